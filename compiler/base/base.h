/* SPDX-License-Identifier: Apache-2.0
 *
 * base/base.h - what every module needs: status codes, ownership marks, checked arithmetic.
 */
#ifndef CHM_BASE_BASE_H
#define CHM_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ownership of pointers in prototypes. An unmarked pointer lives as long as the context it came from. */
#define CHM_GIVE /* the caller owns the result and frees it */
#define CHM_TAKE /* the callee owns the argument from here on */
#define CHM_KEEP /* borrowed for the call only */

#if defined(__GNUC__)
#define CHM_MUST_USE __attribute__((warn_unused_result))
#define CHM_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define CHM_NORETURN __attribute__((noreturn))
#else
#define CHM_MUST_USE
#define CHM_PRINTF(fmt, args)
#define CHM_NORETURN
#endif

/* 0 is success; details of a failure stand in the context's diagnostic list. */
typedef enum ChmStatus {
    CHM_OK = 0,
    CHM_ERR_INPUT = -1,    /* the user's input is wrong; diagnostics say where (exit 1) */
    CHM_ERR_IO = -2,       /* a file cannot be read or written (exit 1) */
    CHM_ERR_MEMORY = -3,   /* an allocation failed (exit 70) */
    CHM_ERR_INTERNAL = -4, /* a check of our own failed: a defect of the compiler (exit 70) */
    CHM_ERR_USAGE = -5,    /* the command line is wrong (exit 2) */
} ChmStatus;

/* *out = a op b; false (and *out untouched) when the result does not fit an int64_t. */
bool chm_mul64(int64_t a, int64_t b, int64_t *out) CHM_MUST_USE;
bool chm_add64(int64_t a, int64_t b, int64_t *out) CHM_MUST_USE;
bool chm_sub64(int64_t a, int64_t b, int64_t *out) CHM_MUST_USE;

/* 64-bit FNV-1a over n bytes, continuing from h; begin with CHM_HASH_SEED. */
#define CHM_HASH_SEED UINT64_C(14695981039346656037)
uint64_t chm_hash(uint64_t h, const void *bytes, size_t n);

#endif
