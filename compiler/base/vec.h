/* SPDX-License-Identifier: Apache-2.0
 *
 * base/vec.h - growable arrays inside an arena.
 *
 *   CHM_VEC(ChmOp *) ops = {0};        a struct with .at, .len, .cap
 *   CHM_PUSH(arena, &ops, op);         amortised O(1); old storage stays in the arena until it dies
 */
#ifndef CHM_BASE_VEC_H
#define CHM_BASE_VEC_H

#include "base/arena.h"

#define CHM_VEC(T)        \
    struct {              \
        T *at;            \
        int32_t len, cap; \
    }

#define CHM_PUSH(arena, v, item)                                                            \
    do {                                                                                    \
        if ((v)->len == (v)->cap)                                                           \
            (v)->at = chm_vec_grow((arena), (v)->at, &(v)->cap, (v)->len, sizeof *(v)->at); \
        (v)->at[(v)->len++] = (item);                                                       \
    } while (0)

void *chm_vec_grow(ChmArena *arena, const void *old, int32_t *cap, int32_t len, size_t item_bytes);

#endif
