/* SPDX-License-Identifier: Apache-2.0
 *
 * base/map.h - open-addressing hash maps in an arena, and the interner built on them.
 *
 * No iteration over a map is offered: hash order may never reach an output. One map serves one purpose: strings,
 * records and plain entries are not mixed in it.
 */
#ifndef CHM_BASE_MAP_H
#define CHM_BASE_MAP_H

#include "base/arena.h"

/* From byte strings to pointers; keys are copied into the arena. Expected O(1). */
typedef struct ChmMapSlot ChmMapSlot;
typedef struct ChmMap {
    ChmArena *arena;
    ChmMapSlot *slots;
    size_t len, cap;
} ChmMap;

void chm_map_init(ChmMap *m, ChmArena *arena);
void *chm_map_get(const ChmMap *m, const void *key, size_t key_bytes);       /* NULL when absent */
void chm_map_put(ChmMap *m, const void *key, size_t key_bytes, void *value); /* replaces; value not NULL */

/* Interned strings: equal texts have equal pointers. They live as long as the arena. */
const char *chm_intern(ChmMap *strings, const char *s, size_t n);
const char *chm_intern_str(ChmMap *strings, const char *s);

/* Interned records without pointers to mutable data: the one copy of these bytes (padding must be zeroed by the
 * caller). */
const void *chm_intern_bytes(ChmMap *m, const void *record, size_t bytes);

#endif
