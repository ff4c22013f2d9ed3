/* SPDX-License-Identifier: Apache-2.0
 *
 * diag/suggest.c - "did you mean": Damerau-Levenshtein distance, in the form that edits no place twice (optimal string
 * alignment). O(length^2) per candidate.
 */
#include "diag/diag.h"

#include <ctype.h>
#include <string.h>

#define NAME_MAX_BYTES 64

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

static int edit_distance(const char *a, int a_len, const char *b, int b_len)
{
    int rows[3][NAME_MAX_BYTES + 1]; /* row i of the table stands in rows[i % 3] */
    for (int j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (int i = 1; i <= a_len; i++) {
        int *row = rows[i % 3];
        const int *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= b_len; j++) {
            row[j] = min_int(up[j], row[j - 1]) + 1;
            row[j] = min_int(row[j], up[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min_int(row[j], up2[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

/* "AllReduce" and "all_reduce" are the same word. */
static bool same_letters(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == '_')
            a++;
        while (*b == '_')
            b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (!*a)
            return true;
    }
}

const char *chm_did_you_mean(const char *name, const char *const *candidates, int32_t n)
{
    const char *best = NULL;
    size_t name_len = strlen(name);
    if (name_len > NAME_MAX_BYTES)
        return NULL;
    int bound = 2 + (name_len <= 4 ? 0 : (int)name_len / 3); /* only less than this is better */
    for (int32_t i = 0; i < n; i++) {
        size_t len = strlen(candidates[i]);
        if (len > NAME_MAX_BYTES)
            continue;
        if (*name && same_letters(name, candidates[i]))
            return candidates[i];
        int distance = edit_distance(name, (int)name_len, candidates[i], (int)len);
        size_t longer = len > name_len ? len : name_len;
        if (distance < bound && (size_t)distance < longer) { /* else nothing of the name would be left */
            bound = distance;
            best = candidates[i];
        }
    }
    return best;
}
