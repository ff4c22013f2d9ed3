/* SPDX-License-Identifier: Apache-2.0
 *
 * base/arena.c - the guard, arenas, and the growth of vectors in them.
 */
#include "base/arena.h"
#include "base/vec.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Under AddressSanitizer what has not been handed out is poisoned, and a gap of poison follows every allocation. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#endif

#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#define GAP_BYTES sizeof(max_align_t)
#else
#define POISON(p, n) ((void)0)
#define UNPOISON(p, n) ((void)0)
#define GAP_BYTES ((size_t)0)
#endif

#define CHUNK_MIN_BYTES ((size_t)64 << 10)
#define CHUNK_MAX_BYTES ((size_t)4 << 20)

struct ChmArenaChunk {
    ChmArenaChunk *next;
    alignas(max_align_t) char data[];
};

jmp_buf *chm_guard_arm(ChmGuard *guard)
{
    guard->armed = true;
    return &guard->env;
}

bool chm_guard_allows(ChmGuard *guard)
{
    if (!guard || guard->fail_at == 0)
        return true;
    return --guard->fail_at != 0;
}

void chm_guard_unwind(ChmGuard *guard)
{
    if (!guard || !guard->armed) {
        fputs("chimerac: out of memory\n", stderr);
        abort();
    }
    guard->armed = false;
    longjmp(guard->env, 1);
}

void chm_arena_init(ChmArena *a, ChmGuard *guard)
{
    *a = (ChmArena){.guard = guard};
}

void chm_arena_fini(ChmArena *a)
{
    ChmArenaChunk *next;
    for (ChmArenaChunk *c = a->chunks; c; c = next) {
        next = c->next;
        free(c);
    }
    chm_arena_init(a, a->guard);
}

/* Chunks grow with the arena, so their number stays logarithmic until they reach the greatest size. */
static size_t next_chunk_bytes(const ChmArena *a)
{
    if (a->total_bytes < CHUNK_MIN_BYTES)
        return CHUNK_MIN_BYTES;
    return a->total_bytes < CHUNK_MAX_BYTES ? a->total_bytes : CHUNK_MAX_BYTES;
}

static char *alloc_in_new_chunk(ChmArena *a, size_t need)
{
    size_t bytes = next_chunk_bytes(a);
    bool own = need > bytes / 4; /* a chunk to itself: what is left of the current one stays in use */
    if (own)
        bytes = need;
    ChmArenaChunk *c = calloc(1, sizeof *c + bytes);
    if (!c)
        return NULL;
    POISON(c->data, bytes);
    c->next = a->chunks;
    a->chunks = c;
    a->total_bytes += sizeof *c + bytes;
    if (!own) {
        a->at = c->data + need;
        a->end = c->data + bytes;
    }
    return c->data;
}

void *chm_arena_try_alloc(ChmArena *a, size_t bytes)
{
    const size_t align = alignof(max_align_t);
    if (!chm_guard_allows(a->guard) || bytes > SIZE_MAX / 2)
        return NULL;
    size_t need = ((bytes ? bytes : 1) + align - 1) / align * align + GAP_BYTES;
    size_t room = a->at ? (size_t)(a->end - a->at) : 0;
    char *p = a->at;
    if (need <= room)
        a->at += need;
    else
        p = alloc_in_new_chunk(a, need);
    if (p)
        UNPOISON(p, bytes);
    return p;
}

void *chm_arena_alloc(ChmArena *a, size_t bytes)
{
    void *p = chm_arena_try_alloc(a, bytes);
    if (!p)
        chm_guard_unwind(a->guard);
    return p;
}

void *chm_arena_copy(ChmArena *a, const void *src, size_t bytes)
{
    void *p = chm_arena_alloc(a, bytes);
    if (bytes)
        memcpy(p, src, bytes);
    return p;
}

char *chm_arena_strndup(ChmArena *a, const char *s, size_t n)
{
    if (n == SIZE_MAX) /* n + 1 would wrap */
        chm_guard_unwind(a->guard);
    char *p = chm_arena_alloc(a, n + 1);
    if (n)
        memcpy(p, s, n);
    return p;
}

char *chm_arena_vprintf(ChmArena *a, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    size_t bytes = n < 0 ? 1 : (size_t)n + 1; /* negative: text of more than INT_MAX bytes; the result is "" */
    char *p = chm_arena_try_alloc(a, bytes);
    if (p && n > 0)
        vsnprintf(p, bytes, fmt, again);
    va_end(again);
    if (!p)
        chm_guard_unwind(a->guard);
    return p;
}

char *chm_arena_printf(ChmArena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *p = chm_arena_vprintf(a, fmt, args);
    va_end(args);
    return p;
}

void *chm_vec_grow(ChmArena *arena, const void *old, int32_t *cap, int32_t len, size_t item_bytes)
{
    if (*cap > INT32_MAX / 2)
        chm_guard_unwind(arena->guard);
    int32_t grown = *cap ? 2 * *cap : 8;
    void *p = chm_arena_alloc(arena, (size_t)grown * item_bytes);
    if (len)
        memcpy(p, old, (size_t)len * item_bytes);
    *cap = grown;
    return p;
}
