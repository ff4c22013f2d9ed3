/* SPDX-License-Identifier: Apache-2.0
 *
 * base/map.c - linear probing over a power of two of slots, at most three quarters full. Nothing is ever removed.
 */
#include "base/map.h"

#include <string.h>

#define MIN_CAP ((size_t)16)

struct ChmMapSlot {
    const void *key;
    size_t key_bytes;
    uint64_t hash;
    void *value; /* NULL: the slot is free */
};

void chm_map_init(ChmMap *m, ChmArena *arena)
{
    *m = (ChmMap){.arena = arena};
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15); /* the golden ratio, odd: bits spread upwards, */
    return h ^ h >> 32;                            /* and back to the low ones, which choose the slot */
}

/* Eight bytes at a time: keys are records, and slots are looked up more than anything else. Not for anything that
 * leaves the process, unlike chm_hash: it depends on the order of bytes in a word. */
static uint64_t hash_of(const void *key, size_t n)
{
    const unsigned char *p = key;
    uint64_t h = CHM_HASH_SEED ^ n, word;
    for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        h = mix(h, word);
    }
    word = 0;
    if (n > 0) /* an empty key may be NULL */
        memcpy(&word, p, n);
    return mix(h, word);
}

/* The key's slot, or the free slot where it belongs. */
static ChmMapSlot *find_slot(ChmMapSlot *slots, size_t cap, uint64_t hash, const void *key, size_t key_bytes)
{
    for (size_t i = (size_t)hash & (cap - 1);; i = (i + 1) & (cap - 1)) {
        ChmMapSlot *s = &slots[i];
        if (!s->value)
            return s;
        if (s->hash == hash && s->key_bytes == key_bytes && (key_bytes == 0 || memcmp(s->key, key, key_bytes) == 0))
            return s;
    }
}

static void make_room(ChmMap *m)
{
    if (m->cap && (m->len + 1) <= m->cap / 4 * 3)
        return;
    size_t cap = m->cap ? 2 * m->cap : MIN_CAP;
    ChmMapSlot *slots = CHM_NEW_ARRAY(m->arena, ChmMapSlot, cap);
    for (size_t i = 0; i < m->cap; i++) {
        const ChmMapSlot *s = &m->slots[i];
        if (s->value)
            *find_slot(slots, cap, s->hash, s->key, s->key_bytes) = *s;
    }
    m->slots = slots;
    m->cap = cap;
}

static void *lookup(const ChmMap *m, uint64_t hash, const void *key, size_t key_bytes)
{
    return m->cap ? find_slot(m->slots, m->cap, hash, key, key_bytes)->value : NULL;
}

/* The key is absent, and lives as long as the map. */
static void insert(ChmMap *m, uint64_t hash, const void *key, size_t key_bytes, void *value)
{
    make_room(m);
    *find_slot(m->slots, m->cap, hash, key, key_bytes) = (ChmMapSlot){key, key_bytes, hash, value};
    m->len++;
}

void *chm_map_get(const ChmMap *m, const void *key, size_t key_bytes)
{
    return lookup(m, hash_of(key, key_bytes), key, key_bytes);
}

void chm_map_put(ChmMap *m, const void *key, size_t key_bytes, void *value)
{
    uint64_t hash = hash_of(key, key_bytes);
    if (lookup(m, hash, key, key_bytes))
        find_slot(m->slots, m->cap, hash, key, key_bytes)->value = value;
    else
        insert(m, hash, chm_arena_copy(m->arena, key, key_bytes), key_bytes, value);
}

const char *chm_intern(ChmMap *strings, const char *s, size_t n)
{
    uint64_t hash = hash_of(s, n);
    char *known = lookup(strings, hash, s, n);
    if (!known) {
        known = chm_arena_strndup(strings->arena, s, n);
        insert(strings, hash, known, n, known);
    }
    return known;
}

const char *chm_intern_str(ChmMap *strings, const char *s)
{
    return chm_intern(strings, s, strlen(s));
}

const void *chm_intern_bytes(ChmMap *m, const void *record, size_t bytes)
{
    uint64_t hash = hash_of(record, bytes);
    void *known = lookup(m, hash, record, bytes);
    if (!known) {
        known = chm_arena_copy(m->arena, record, bytes);
        insert(m, hash, known, bytes, known);
    }
    return known;
}
