/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/output.c - files that are written whole or not at all.
 */
#define _XOPEN_SOURCE 700 /* realpath */

#include "driver/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ChmStatus failed(ChmOut *err, const char *path, const char *what)
{
    chm_out_printf(err, "chimerac: error: cannot write '%s': %s\n", path, what);
    return CHM_ERR_IO;
}

static bool is_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
}

ChmStatus chm_output_check(const char *path, const char *input, ChmOut *err)
{
    struct stat out, in;
    if (is_stdout(path) || stat(path, &out) != 0)
        return CHM_OK;
    if (S_ISDIR(out.st_mode))
        return failed(err, path, strerror(EISDIR));
    bool have_in = strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, &in) == 0 : stat(input, &in) == 0;
    if (have_in && S_ISREG(out.st_mode) && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
        return failed(err, path, "it is the input file");
    return CHM_OK;
}

static bool write_all(int fd, const ChmOut *text)
{
    const char *at = chm_out_text(text);
    for (size_t left = text->len; left > 0;) {
        ssize_t n = write(fd, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        left -= (size_t)n;
    }
    return true;
}

/* Devices, pipes: there is no neighbour to rename. */
static ChmStatus write_directly(int fd, const char *path, const ChmOut *text, ChmOut *err)
{
    bool ok = write_all(fd, text);
    int why = errno;
    if (fd != STDOUT_FILENO && close(fd) != 0 && ok) {
        ok = false;
        why = errno;
    }
    return ok ? CHM_OK : failed(err, path, strerror(why));
}

/* A new file in the folder of 'path'; its name in *name. */
static int create_neighbour(ChmArena *arena, const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path + 1) : 0;
    for (int tries = 0; tries < 100; tries++) {
        *name = chm_arena_printf(arena, "%.*s.chimerac-%ld-%d.tmp", folder, path, (long)getpid(), tries);
        int fd = open(*name, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static ChmStatus write_and_rename(ChmArena *arena, const char *path, const struct stat *old, const ChmOut *text,
                                  ChmOut *err)
{
    const char *temporary;
    int fd = create_neighbour(arena, path, &temporary);
    if (fd < 0)
        return failed(err, path, strerror(errno));
    bool ok = write_all(fd, text) && (!old || fchmod(fd, old->st_mode & 07777) == 0);
    int why = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        why = errno;
    }
    if (ok && rename(temporary, path) == 0)
        return CHM_OK;
    if (ok)
        why = errno;
    unlink(temporary);
    return failed(err, path, strerror(why));
}

ChmStatus chm_output_write(ChmArena *arena, const char *path, const ChmOut *text, ChmOut *err)
{
    struct stat old;
    if (is_stdout(path))
        return write_directly(STDOUT_FILENO, "<stdout>", text, err);
    if (stat(path, &old) != 0)
        return write_and_rename(arena, path, NULL, text, err);
    if (!S_ISREG(old.st_mode)) {
        int fd = open(path, O_WRONLY);
        return fd < 0 ? failed(err, path, strerror(errno)) : write_directly(fd, path, text, err);
    }
    if (access(path, W_OK) != 0)
        return failed(err, path, strerror(errno));
    char *real = realpath(path, NULL); /* a link stays a link */
    if (!real)
        return failed(err, path, strerror(errno));
    char *copy = chm_arena_try_alloc(arena, strlen(real) + 1);
    if (copy)
        memcpy(copy, real, strlen(real) + 1);
    free(real);
    if (!copy)
        chm_guard_unwind(arena->guard);
    return write_and_rename(arena, copy, &old, text, err);
}
