/* SPDX-License-Identifier: Apache-2.0
 *
 * diag/source.c - input texts and places in them.
 */
#include "diag/diag.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_MIN_BYTES ((size_t)64 << 10)

ChmSpan chm_span_join(ChmSpan a, ChmSpan b)
{
    if (!a.source)
        return b;
    if (a.source != b.source) /* no place, or another text: a says it as well as can be */
        return a;
    return (ChmSpan){a.source, a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

void chm_source_place(const ChmSource *s, uint32_t offset, uint32_t *line, uint32_t *col)
{
    const char *at = s->text + (offset < s->len ? offset : s->len);
    const char *line_begin = s->text;
    *line = 1;
    for (const char *nl; (nl = memchr(line_begin, '\n', (size_t)(at - line_begin))) != NULL; line_begin = nl + 1)
        ++*line;
    *col = (uint32_t)(at - line_begin) + 1;
}

ChmStatus chm_source_check(ChmDiags *d, const ChmSource *s)
{
    const char *nul = memchr(s->text, '\0', s->len);
    if (!nul)
        return CHM_OK;
    ChmSpan at = {s, (uint32_t)(nul - s->text), (uint32_t)(nul - s->text)};
    while (at.end < s->len && s->text[at.end] == '\0')
        at.end++;
    ChmDiag *diag = chm_error(d, at, "the text has a NUL byte");
    chm_help(d, diag, "The input is plain text; this looks like a binary file or UTF-16.");
    return CHM_ERR_INPUT;
}

/* The text is in the arena already, with its two NULs. */
static const ChmSource *make_source(ChmArena *arena, const char *name, const char *text, size_t len)
{
    ChmSource *s = CHM_NEW(arena, ChmSource);
    s->name = chm_arena_strndup(arena, name, strlen(name));
    s->text = text;
    s->len = (uint32_t)len;
    return s;
}

const ChmSource *chm_source_from_text(ChmArena *arena, const char *name, const char *text, size_t len)
{
    char *copy = chm_arena_alloc(arena, len + 2);
    if (len)
        memcpy(copy, text, len);
    return make_source(arena, name, copy, len);
}

/* ---- reading; nothing here unwinds while a descriptor or a malloc'ed block is held ---- */

typedef struct Bytes {
    char *at; /* malloc'ed */
    size_t len, cap;
} Bytes;

/* One more read; its count, 0 at the end, or -1 with errno. */
static ssize_t read_more(ChmGuard *guard, int fd, Bytes *b)
{
    if (b->len == b->cap) {
        size_t cap = b->cap ? 2 * b->cap : READ_MIN_BYTES;
        char *at = chm_guard_allows(guard) ? realloc(b->at, cap) : NULL;
        if (!at) {
            errno = ENOMEM;
            return -1;
        }
        b->at = at;
        b->cap = cap;
    }
    ssize_t n;
    do
        n = read(fd, b->at + b->len, b->cap - b->len);
    while (n < 0 && errno == EINTR);
    return n;
}

/* 0, or the errno of what went wrong (EFBIG: too large). Works without seeking: pipes and FIFOs are welcome. */
static int read_all(ChmGuard *guard, int fd, Bytes *b)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    if (S_ISREG(st.st_mode) && st.st_size > (off_t)CHM_SOURCE_MAX_BYTES)
        return EFBIG;
    for (;;) {
        ssize_t n = read_more(guard, fd, b);
        if (n < 0)
            return errno;
        if (n == 0)
            return 0;
        b->len += (size_t)n;
        if (b->len > CHM_SOURCE_MAX_BYTES)
            return EFBIG;
    }
}

static int read_path(ChmGuard *guard, const char *path, Bytes *b)
{
    if (strcmp(path, "-") == 0)
        return read_all(guard, STDIN_FILENO, b);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return errno;
    int err = read_all(guard, fd, b);
    close(fd);
    return err;
}

/* Copies the bytes into the arena, two NULs after them; NULL without memory. */
static char *to_arena(ChmArena *arena, const Bytes *b)
{
    char *text = chm_arena_try_alloc(arena, b->len + 2);
    if (text && b->len)
        memcpy(text, b->at, b->len);
    return text;
}

static void report_failure(ChmDiags *d, ChmSpan at, const char *name, int err)
{
    if (err == EISDIR)
        chm_error(d, at, "cannot read '%s': is a directory", name);
    else if (err == EFBIG)
        chm_error(d, at, "cannot read '%s': larger than %u MiB", name, CHM_SOURCE_MAX_BYTES >> 20);
    else
        chm_error(d, at, "cannot read '%s': %s", name, strerror(err));
}

ChmStatus chm_source_read_at(ChmDiags *d, ChmSpan at, const char *path, const ChmSource **out)
{
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    Bytes bytes = {0};
    int err = read_path(d->arena->guard, path, &bytes);
    char *text = err ? NULL : to_arena(d->arena, &bytes);
    size_t len = bytes.len;
    free(bytes.at);
    if (err == ENOMEM || (!err && !text))
        chm_guard_unwind(d->arena->guard);
    if (err) {
        report_failure(d, at, name, err);
        return CHM_ERR_IO;
    }
    *out = make_source(d->arena, name, text, len);
    return CHM_OK;
}

ChmStatus chm_source_read(ChmDiags *d, const char *path, const ChmSource **out)
{
    return chm_source_read_at(d, (ChmSpan){0}, path, out);
}
