/* SPDX-License-Identifier: Apache-2.0
 *
 * base/arena.h - bump allocation; everything in an arena dies together.
 *
 * Allocation never returns NULL. When memory runs out, or when a test asked for it, control unwinds once to
 * the CHM_TRY of the guard that the arena was made with; that entry frees its arenas and returns CHM_ERR_MEMORY.
 * What is not in an arena (FILE, malloc) must therefore not be held across an arena allocation, except by the entry.
 *
 * The entry keeps what it frees after an unwinding (guard, arenas, outs) in a struct that is not a local variable of
 * the function that says CHM_TRY: C leaves changed locals of that function indeterminate.
 */
#ifndef CHM_BASE_ARENA_H
#define CHM_BASE_ARENA_H

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>

typedef struct ChmGuard {
    jmp_buf env;
    bool armed;      /* inside CHM_TRY; an unarmed failure aborts (the only abort of the library) */
    int64_t fail_at; /* test aid: the allocation with this number fails (1 is the next); 0: never */
} ChmGuard;

/* if (CHM_TRY(&guard)) { ... body ... ; guard.armed = false; } else { out of memory; disarmed already } */
#define CHM_TRY(guard) (setjmp(*chm_guard_arm(guard)) == 0)

jmp_buf *chm_guard_arm(ChmGuard *guard);

/* For other allocators that share the guard. A NULL guard is one that is never armed. */
bool chm_guard_allows(ChmGuard *guard) CHM_MUST_USE; /* counts an allocation; false: it must fail (fail_at) */
CHM_NORETURN void chm_guard_unwind(ChmGuard *guard);

typedef struct ChmArenaChunk ChmArenaChunk;

typedef struct ChmArena {
    ChmGuard *guard;
    ChmArenaChunk *chunks;
    char *at, *end;
    size_t total_bytes; /* obtained from malloc so far */
} ChmArena;

void chm_arena_init(ChmArena *a, ChmGuard *guard);
void chm_arena_fini(ChmArena *a);                 /* frees every chunk; a may be inited again */
void *chm_arena_alloc(ChmArena *a, size_t bytes); /* zeroed, aligned for any type; 0 bytes: a distinct pointer */
void *chm_arena_copy(ChmArena *a, const void *src, size_t bytes);
char *chm_arena_strndup(ChmArena *a, const char *s, size_t n); /* adds the NUL */
char *chm_arena_printf(ChmArena *a, const char *fmt, ...) CHM_PRINTF(2, 3);
char *chm_arena_vprintf(ChmArena *a, const char *fmt, va_list args) CHM_PRINTF(2, 0);

/* NULL instead of unwinding, for a caller that must first let go of something: then it calls chm_guard_unwind. */
void *chm_arena_try_alloc(ChmArena *a, size_t bytes) CHM_MUST_USE;

#define CHM_NEW(arena, T) ((T *)chm_arena_alloc((arena), sizeof(T)))
#define CHM_NEW_ARRAY(arena, T, n) ((T *)chm_arena_alloc((arena), sizeof(T) * (size_t)(n)))

#endif
