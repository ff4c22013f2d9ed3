/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_context.c - life of a context: agreement at creation, groups, memory, errors.
 */
#include "chrt_task.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ChrtStatus chrt_fail(ChrtCtx *ctx, ChrtStatus status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(ctx->message, sizeof ctx->message, format, args);
    va_end(args);
    return status;
}

const char *chrt_error_message(const ChrtCtx *ctx)
{
    return ctx->message;
}

const char *chrt_status_name(ChrtStatus status)
{
    switch (status) {
    case CHRT_OK:
        return "ok";
    case CHRT_ERR_RANKS:
        return "wrong number of ranks";
    case CHRT_ERR_SCHEDULE:
        return "different schedules";
    case CHRT_ERR_NULL:
        return "missing buffer";
    case CHRT_ERR_MPI:
        return "MPI error";
    case CHRT_ERR_MEMORY:
        return "out of memory";
    case CHRT_ERR_TYPE:
        return "types do not fit the op";
    case CHRT_ERR_GROUP:
        return "unknown group";
    case CHRT_ERR_CUT:
        return "no such cut";
    case CHRT_ERR_STATE:
        return "task is under way";
    }
    return "unknown status";
}

ChrtStatus chrt_fail_mpi(ChrtCtx *ctx, const char *what, const char *name, int mpi_error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(mpi_error, text, &length);
    ctx->broken = CHRT_ERR_MPI;
    return chrt_fail(ctx, CHRT_ERR_MPI, "%s%s%.64s: %s", what, *name ? " " : "", name, text);
}

static ChrtStatus fail_mpi(ChrtCtx *ctx, const char *what, int mpi_error)
{
    return chrt_fail_mpi(ctx, what, "", mpi_error);
}

ChrtStatus chrt_agree(ChrtCtx *ctx, const char *what, ChrtStatus mine)
{
    int worst = 0, code = mine;
    int rc = MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MIN, ctx->comm);
    if (mine < 0)
        return mine;
    if (rc != MPI_SUCCESS)
        return fail_mpi(ctx, what, rc);
    if (worst < 0)
        return chrt_fail(ctx, (ChrtStatus)worst, "%s: %s on another rank", what, chrt_status_name((ChrtStatus)worst));
    return CHRT_OK;
}

/* ---- creation -------------------------------------------------------------------------------------------------- */

/* FNV-1a over the mesh and the groups, on top of the caller's hash: ranks that differ in these would hang as well. */
static uint64_t whole_hash(const ChrtMesh *mesh, const ChrtAxes *groups, int32_t ngroups, uint64_t hash)
{
    for (int32_t a = 0; a < mesh->naxes && a < CHRT_MAX_AXES; a++)
        hash = (hash ^ (uint64_t)mesh->axis[a].size) * UINT64_C(1099511628211);
    for (int32_t g = 0; g < ngroups; g++) {
        for (const uint8_t *a = groups[g]; *a; a++)
            hash = (hash ^ *a) * UINT64_C(1099511628211);
        hash *= UINT64_C(1099511628211);
    }
    return hash;
}

static void print_mesh(const ChrtMesh *mesh, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int32_t a = 0; a < mesh->naxes && a < CHRT_MAX_AXES && used < bytes; a++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s=%" PRId32, a ? ", " : "", mesh->axis[a].name,
                                 mesh->axis[a].size);
}

/* Everything that could make a rank go another way is settled here, in one all_reduce that all ranks take part in
 * whatever they found: size of the communicator, schedule, memory. */
static ChrtStatus agree(ChrtCtx *ctx, uint64_t hash, bool memory)
{
    enum { HASH, NOT_HASH, RANKS, MEMORY, N };
    uint64_t mine[N] = {hash, ~hash, chrt_mesh_ranks(ctx->mesh) != ctx->ranks, !memory}, most[N];
    int rc = MPI_Allreduce(mine, most, N, MPI_UINT64_T, MPI_MAX, ctx->comm);
    if (rc != MPI_SUCCESS)
        return fail_mpi(ctx, "create", rc);
    if (most[RANKS] && most[HASH] == ~most[NOT_HASH]) {
        char mesh[256];
        print_mesh(ctx->mesh, mesh, sizeof mesh);
        return chrt_fail(ctx, CHRT_ERR_RANKS,
                         "create: plan '%s' needs the %" PRId32 " ranks of mesh (%s), the communicator has %" PRId32,
                         ctx->plan, chrt_mesh_ranks(ctx->mesh), mesh, ctx->ranks);
    }
    if (most[HASH] != ~most[NOT_HASH])
        return chrt_fail(ctx, CHRT_ERR_SCHEDULE,
                         "create: plan '%s' is not the same schedule on every rank: hash %016" PRIx64
                         " on rank %" PRId32 ", least %016" PRIx64 ", greatest %016" PRIx64,
                         ctx->plan, hash, ctx->rank, ~most[NOT_HASH], most[HASH]);
    if (most[MEMORY])
        return chrt_fail(ctx, CHRT_ERR_MEMORY, "create: out of memory on some rank");
    return CHRT_OK;
}

/* MPI_SUM of small integers saturates in Open MPI where it uses vector instructions (its issue 8045). */
static void sum_wrap(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    chrt_sum_add(CHRT_U8, inout, in, *count);
}

const ChrtGroup *chrt_group_find(const ChrtCtx *ctx, const uint8_t *moving)
{
    for (int32_t g = 0; g < ctx->ngroups; g++)
        if (!memcmp(ctx->groups[g].axes, moving, sizeof(ChrtAxes)))
            return &ctx->groups[g];
    return NULL;
}

/* A communicator with the group's members in order, for the library's collectives. Members that share everything but
 * the axes share the colour; the key is the place in the list's own order. */
static ChrtStatus add_comm(ChrtCtx *ctx, ChrtGroup *group)
{
    ChrtAxes others = {0};
    int32_t n = 0;
    for (int32_t a = 1; a <= ctx->mesh->naxes; a++)
        if (!memchr(group->axes, a, sizeof group->axes))
            others[n++] = (uint8_t)a;
    int rc = MPI_Comm_split(ctx->comm, chrt_index_in(ctx->mesh, ctx->rank, others), group->me, &group->comm);
    if (rc != MPI_SUCCESS)
        return fail_mpi(ctx, "create: MPI_Comm_split", rc);
    rc = MPI_Comm_set_errhandler(group->comm, MPI_ERRORS_RETURN);
    if (rc != MPI_SUCCESS)
        return fail_mpi(ctx, "create: MPI_Comm_set_errhandler", rc);

    char name[MPI_MAX_OBJECT_NAME];
    size_t used = (size_t)snprintf(name, sizeof name, "%.40s", ctx->plan);
    for (const uint8_t *a = group->axes; *a && used < sizeof name; a++)
        used += (size_t)snprintf(name + used, sizeof name - used, "%c%.16s", a == group->axes ? ':' : ',',
                                 ctx->mesh->axis[*a - 1].name);
    rc = MPI_Comm_set_name(group->comm, name);
    if (rc != MPI_SUCCESS)
        return fail_mpi(ctx, "create: MPI_Comm_set_name", rc);
    return CHRT_OK;
}

/* Unless there is one already or the group is the rank alone. */
static ChrtStatus add_group(ChrtCtx *ctx, const uint8_t *axes)
{
    ChrtAxes moving;
    if (!chrt_axes_moving(ctx->mesh, axes, moving))
        return chrt_fail(ctx, CHRT_ERR_GROUP, "create: a group names an axis that the mesh lacks");
    if (!moving[0] || chrt_group_find(ctx, moving))
        return CHRT_OK;
    ChrtGroup *group = &ctx->groups[ctx->ngroups++];
    memcpy(group->axes, moving, sizeof moving);
    group->comm = MPI_COMM_NULL;
    group->me = chrt_index_in(ctx->mesh, ctx->rank, moving);
    group->size = chrt_group_members(ctx->mesh, ctx->rank, moving, NULL);
    group->members = malloc((size_t)group->size * sizeof *group->members);
    if (ctx->library)
        CHRT_TRY(add_comm(ctx, group));
    if (!group->members)
        return chrt_fail(ctx, CHRT_ERR_MEMORY, "create: out of memory");
    chrt_group_members(ctx->mesh, ctx->rank, moving, group->members);
    return CHRT_OK;
}

/* Everything that MPI makes for us. All ranks try all of it, whatever fails, and agree at the end. */
static ChrtStatus set_up(ChrtCtx *ctx, const ChrtAxes *groups, int32_t ngroups)
{
    ChrtStatus mine = CHRT_OK;
    int rc = MPI_Op_create(sum_wrap, 1, &ctx->sum_wrap);
    if (rc != MPI_SUCCESS)
        mine = fail_mpi(ctx, "create: MPI_Op_create", rc);
    for (int32_t g = 0; g < ngroups; g++) {
        ChrtStatus status = add_group(ctx, groups[g]);
        if (status < 0 && mine == CHRT_OK)
            mine = status;
    }
    void *value = NULL;
    int found = 0;
    rc = MPI_Comm_get_attr(ctx->comm, MPI_TAG_UB, &value, &found);
    if (rc != MPI_SUCCESS && mine == CHRT_OK)
        mine = fail_mpi(ctx, "create: MPI_Comm_get_attr", rc);
    ctx->max_tag = found && value ? *(int *)value : 32767;
    return chrt_agree(ctx, "create", mine);
}

ChrtStatus chrt_create(MPI_Comm comm, const ChrtMesh *mesh, const ChrtAxes *groups, int32_t ngroups,
                       uint64_t schedule_hash, const char *plan, ChrtCtx **out, char *message)
{
    *out = NULL;
    ChrtCtx spare = {.ranks = 0}; /* carries the rank through the agreement when there is no memory for a context */
    ChrtCtx *ctx = calloc(1, sizeof *ctx);
    bool memory = ctx != NULL;
    if (!ctx)
        ctx = &spare;
    ctx->mesh = mesh;
    ctx->plan = plan;
    ctx->comm = MPI_COMM_NULL;
    const char *collectives = getenv("CHRT_COLLECTIVES");
    ctx->library = collectives && !strcmp(collectives, "library");
    ctx->sum_wrap = MPI_OP_NULL;
    ctx->groups = calloc((size_t)(ngroups > 0 ? ngroups : 1), sizeof *ctx->groups);
    memory = memory && ctx->groups;

    ChrtStatus status = CHRT_OK;
    int rc = MPI_Comm_dup(comm, &ctx->comm);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_set_errhandler(ctx->comm, MPI_ERRORS_RETURN);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_rank(ctx->comm, &ctx->rank);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_size(ctx->comm, &ctx->ranks);
    if (rc != MPI_SUCCESS)
        status = fail_mpi(ctx, "create", rc);
    else
        status = agree(ctx, whole_hash(mesh, groups, ngroups, schedule_hash + ctx->library), memory);
    if (status == CHRT_OK)
        status = set_up(ctx, groups, ngroups);
    if (status == CHRT_OK) {
        *out = ctx;
        return CHRT_OK;
    }

    if (message)
        snprintf(message, CHRT_MESSAGE_BYTES, "%s", ctx->message);
    if (ctx != &spare) {
        chrt_destroy(ctx);
    } else {
        free(ctx->groups);
        if (ctx->comm != MPI_COMM_NULL)
            MPI_Comm_free(&ctx->comm);
    }
    return status;
}

void chrt_destroy(ChrtCtx *ctx)
{
    if (!ctx)
        return;
    for (int32_t i = 0; i < ctx->ntasks; i++) { /* a failure here is told by `broken` */
        ChrtStatus status = chrt_wait(ctx->tasks[i]);
        (void)status;
    }
    for (int32_t g = 0; g < ctx->ngroups; g++) {
        if (!ctx->broken && ctx->groups[g].comm != MPI_COMM_NULL)
            MPI_Comm_free(&ctx->groups[g].comm);
        free(ctx->groups[g].members);
    }
    free(ctx->groups);
    /* After an error MPI may still write to our buffers: they stay. */
    if (!ctx->broken) {
        for (int32_t i = 0; i < ctx->narenas; i++)
            free(ctx->arenas[i]);
        for (int32_t i = 0; i < ctx->ntasks; i++)
            chrt_task_free(ctx->tasks[i]);
        free(ctx->requests);
        free(ctx->posted);
        if (ctx->sum_wrap != MPI_OP_NULL)
            MPI_Op_free(&ctx->sum_wrap);
        if (ctx->comm != MPI_COMM_NULL)
            MPI_Comm_free(&ctx->comm);
    }
    free(ctx->tasks);
    free(ctx->arenas);
    free(ctx);
}

ChrtStatus chrt_abandon(ChrtCtx *ctx, int status, char *message)
{
    if (message)
        snprintf(message, CHRT_MESSAGE_BYTES, "%s", ctx->message);
    chrt_destroy(ctx);
    return (ChrtStatus)status;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* malloc and not aligned_alloc: simulators intercept it. */
static unsigned char *add_arena(ChrtCtx *ctx, int64_t bytes)
{
    enum { ALIGN = 64 };
    if (bytes < 0 || bytes > PTRDIFF_MAX - ALIGN)
        return NULL;
    void **list = realloc(ctx->arenas, ((size_t)ctx->narenas + 1) * sizeof *list);
    if (!list)
        return NULL;
    ctx->arenas = list;
    unsigned char *memory = malloc((size_t)bytes + ALIGN);
    if (!memory)
        return NULL;
    list[ctx->narenas++] = memory;
    return memory + (ALIGN - (uintptr_t)memory % ALIGN);
}

ChrtStatus chrt_arena(ChrtCtx *ctx, int64_t bytes, unsigned char **arena)
{
    *arena = add_arena(ctx, bytes);
    int missing = *arena == NULL, any = 0;
    int rc = MPI_Allreduce(&missing, &any, 1, MPI_INT, MPI_MAX, ctx->comm);
    if (rc != MPI_SUCCESS)
        return fail_mpi(ctx, "arena", rc);
    if (!any)
        return CHRT_OK;
    *arena = NULL;
    return chrt_fail(ctx, CHRT_ERR_MEMORY, "arena: no memory for %" PRId64 " bytes on %s rank", bytes,
                     missing ? "this" : "another");
}

/* ---- entry ------------------------------------------------------------------------------------------------------- */

ChrtStatus chrt_enter(ChrtCtx *ctx, int32_t n, const ChrtBuffer *buffers)
{
    /* The least of: -1 broken, 1 + buffer * ranks + rank for the first bad buffer, INT64_MAX for none. */
    int64_t code = INT64_MAX, least = 0;
    for (int32_t i = n - 1; i >= 0; i--) {
        ChrtLayout layout;
        if (!chrt_layout_of(ctx->mesh, buffers[i].type, &layout))
            return chrt_fail(ctx, CHRT_ERR_TYPE, "enter: the type of '%s' is malformed", buffers[i].name);
        if (!buffers[i].at && chrt_local_elems(ctx->mesh, buffers[i].type, ctx->rank) > 0)
            code = 1 + (int64_t)i * ctx->ranks + ctx->rank;
    }
    if (ctx->broken)
        code = -1;
    int rc = MPI_Allreduce(&code, &least, 1, MPI_INT64_T, MPI_MIN, ctx->comm);
    if (rc != MPI_SUCCESS)
        return fail_mpi(ctx, "enter", rc);
    if (least == INT64_MAX)
        return CHRT_OK;
    if (ctx->broken)
        return ctx->broken;
    if (least < 0)
        return chrt_fail(ctx, CHRT_ERR_MPI, "enter: another rank had an error before");
    const ChrtBuffer *buffer = &buffers[(least - 1) / ctx->ranks];
    int32_t rank = (int32_t)((least - 1) % ctx->ranks);
    return chrt_fail(ctx, CHRT_ERR_NULL,
                     "enter: buffer '%s' is NULL on rank %" PRId32 ", where its block has %" PRId64 " bytes",
                     buffer->name, rank, chrt_local_bytes(ctx->mesh, buffer->type, rank));
}
