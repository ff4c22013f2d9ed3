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
    return ctx ? ctx->message : "there is no plan: creating it failed, or was left out";
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
        return "call out of turn";
    case CHRT_ERR_OVERLAP:
        return "buffers overlap";
    case CHRT_ERR_COMM:
        return "no communicator";
    case CHRT_ERR_PLAN:
        return "no plan";
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

ChrtStatus chrt_repeat(ChrtCtx *ctx)
{
    if (!ctx->told) {
        char earlier[sizeof ctx->message];
        memcpy(earlier, ctx->message, sizeof earlier);
        chrt_fail(ctx, ctx->broken, "an earlier op failed: %.*s", (int)sizeof earlier - 32, earlier);
        ctx->told = true;
    }
    return ctx->broken;
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

/* Who differs from rank 0, once it is known that some do. */
static ChrtStatus fail_schedule(ChrtCtx *ctx, uint64_t mine)
{
    uint64_t first = mine, other = mine;
    int32_t lowest = ctx->ranks, differs = 0, all = 0;
    int rc = MPI_Bcast(&first, 1, MPI_UINT64_T, 0, ctx->comm);
    if (rc == MPI_SUCCESS) {
        int32_t me = mine != first ? ctx->rank : ctx->ranks;
        differs = mine != first;
        rc = MPI_Allreduce(&me, &lowest, 1, MPI_INT32_T, MPI_MIN, ctx->comm);
    }
    if (rc == MPI_SUCCESS)
        rc = MPI_Allreduce(&differs, &all, 1, MPI_INT32_T, MPI_SUM, ctx->comm);
    if (rc == MPI_SUCCESS && lowest < ctx->ranks)
        rc = MPI_Bcast(&other, 1, MPI_UINT64_T, lowest, ctx->comm);
    if (rc != MPI_SUCCESS)
        return fail_mpi(ctx, "create: the schedule is not the same on every rank", rc);
    return chrt_fail(ctx, CHRT_ERR_SCHEDULE,
                     "create: plan '%s' is not the same schedule on every rank: rank %" PRId32 " (hash %016" PRIx64
                     ") is the lowest of %" PRId32 " that differ%s from rank 0 (hash %016" PRIx64
                     "); all need one build of one plan, and one CHRT_COLLECTIVES",
                     ctx->plan, lowest, other, all, all == 1 ? "s" : "", first);
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
        return fail_schedule(ctx, hash);
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

bool chrt_mpi_is_over(void)
{
    int over = 0;
    MPI_Finalized(&over);
    return over != 0;
}

/* Why no context can be made over comm, or NULL; asked before MPI would end the program over it. */
static const char *bad_comm(MPI_Comm comm)
{
    int begun = 0, inter = 0;
    MPI_Initialized(&begun);
    if (!begun || chrt_mpi_is_over())
        return begun ? "MPI is finalized" : "MPI is not initialized";
    if (comm == MPI_COMM_NULL)
        return "the communicator is MPI_COMM_NULL";
    if (MPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && inter)
        return "the communicator is an intercommunicator";
    return NULL;
}

ChrtStatus chrt_create(MPI_Comm comm, const ChrtMesh *mesh, const ChrtAxes *groups, int32_t ngroups,
                       uint64_t schedule_hash, const char *plan, ChrtCtx **out, char *message)
{
    *out = NULL;
    const char *bad = bad_comm(comm);
    if (bad) {
        if (message)
            snprintf(message, CHRT_MESSAGE_BYTES, "create: plan '%s': %s", plan, bad);
        return CHRT_ERR_COMM;
    }
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
    bool over = chrt_mpi_is_over(); /* then MPI has freed what is its own, and nothing is under way */
    for (int32_t i = 0; i < ctx->ntasks && !over; i++) { /* a failure here is told by `broken` */
        ChrtStatus status = chrt_wait(ctx->tasks[i]);
        (void)status;
    }
    for (int32_t g = 0; g < ctx->ngroups; g++) {
        if (!ctx->broken && !over && ctx->groups[g].comm != MPI_COMM_NULL)
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
        free(ctx->statuses);
        if (!over && ctx->sum_wrap != MPI_OP_NULL)
            MPI_Op_free(&ctx->sum_wrap);
        if (!over && ctx->comm != MPI_COMM_NULL)
            MPI_Comm_free(&ctx->comm);
    }
    free(ctx->tasks);
    free(ctx->arenas);
    free(ctx->extents);
    free(ctx);
}

ChrtStatus chrt_abandon(ChrtCtx *ctx, int status, char *message)
{
    if (message && ctx)
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

static bool reserve_extents(ChrtCtx *ctx, int32_t n)
{
    if (n <= ctx->max_extents)
        return true;
    ChrtExtent *extents = realloc(ctx->extents, (size_t)n * sizeof *extents);
    if (!extents)
        return false;
    ctx->extents = extents;
    ctx->max_extents = n;
    return true;
}

static int compare_extents(const void *a, const void *b)
{
    const ChrtExtent *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

/* Whether an output meets another buffer, and which two: in order of address, each is compared with the one of those
 * before that reaches furthest, an input only with the outputs. */
static bool find_overlap(ChrtExtent *extents, int32_t n, int32_t ninputs, int32_t *one, int32_t *other)
{
    const ChrtExtent *any = NULL, *output = NULL;
    qsort(extents, (size_t)n, sizeof *extents, compare_extents);
    for (int32_t i = 0; i < n; i++) {
        const ChrtExtent *s = &extents[i], *before = s->buffer >= ninputs ? any : output;
        if (before && before->end > s->begin) {
            *one = before->buffer < s->buffer ? before->buffer : s->buffer;
            *other = before->buffer < s->buffer ? s->buffer : before->buffer;
            return true;
        }
        if (!any || s->end > any->end)
            any = s;
        if (s->buffer >= ninputs && (!output || s->end > output->end))
            output = s;
    }
    return false;
}

/* What is wrong on entry, as one number that the ranks take the least of; what counts most comes first. Nothing wrong
 * is INT64_MAX; from FIRST on, n * n + n numbers for each of the ranks: first the missing buffers, then the pairs. */
enum { BROKEN, NO_MEMORY, FIRST };

static int64_t code_of(const ChrtCtx *ctx, int64_t place)
{
    return FIRST + place * ctx->ranks + ctx->rank;
}

/* This rank's; a malformed type is one on every rank. */
static ChrtStatus check_entry(ChrtCtx *ctx, int32_t ninputs, int32_t n, const ChrtBuffer *buffers, int64_t *code)
{
    int32_t nextents = 0, one, other;
    bool memory = reserve_extents(ctx, n);
    *code = INT64_MAX;
    for (int32_t i = n - 1; i >= 0; i--) {
        ChrtLayout layout;
        if (!chrt_layout_of(ctx->mesh, buffers[i].type, &layout))
            return chrt_fail(ctx, CHRT_ERR_TYPE, "enter: the type of '%s' is malformed", buffers[i].name);
        int64_t bytes = chrt_local_bytes(ctx->mesh, buffers[i].type, ctx->rank);
        uintptr_t begin = (uintptr_t)buffers[i].at;
        if (bytes > 0 && !buffers[i].at)
            *code = code_of(ctx, i);
        else if (bytes > 0 && memory)
            ctx->extents[nextents++] = (ChrtExtent){begin, begin + (uintptr_t)bytes, i};
    }
    if (*code == INT64_MAX && nextents > 1 && find_overlap(ctx->extents, nextents, ninputs, &one, &other))
        *code = code_of(ctx, n + (int64_t)one * n + other);
    if (!memory)
        *code = NO_MEMORY;
    if (ctx->broken)
        *code = BROKEN;
    return CHRT_OK;
}

/* The same on every rank. */
static ChrtStatus refuse_entry(ChrtCtx *ctx, int32_t ninputs, int32_t n, const ChrtBuffer *buffers, int64_t code)
{
    if (code == NO_MEMORY)
        return chrt_fail(ctx, CHRT_ERR_MEMORY, "enter: out of memory on some rank");
    int64_t place = (code - FIRST) / ctx->ranks;
    int32_t rank = (int32_t)((code - FIRST) % ctx->ranks);
    if (place < n)
        return chrt_fail(ctx, CHRT_ERR_NULL,
                         "enter: buffer '%s' is NULL on rank %" PRId32 ", where its block has %" PRId64 " bytes",
                         buffers[place].name, rank, chrt_local_bytes(ctx->mesh, buffers[place].type, rank));
    const ChrtBuffer *one = &buffers[(place - n) / n], *output = &buffers[(place - n) % n];
    return chrt_fail(ctx, CHRT_ERR_OVERLAP,
                     "enter: output '%s' overlaps %s '%s' on rank %" PRId32 ", where their blocks have %" PRId64
                     " and %" PRId64 " bytes",
                     output->name, one < buffers + ninputs ? "input" : "output", one->name, rank,
                     chrt_local_bytes(ctx->mesh, output->type, rank), chrt_local_bytes(ctx->mesh, one->type, rank));
}

ChrtStatus chrt_enter(ChrtCtx *ctx, int32_t ninputs, int32_t noutputs, const ChrtBuffer *buffers)
{
    int64_t code, least = 0;
    if (!ctx)
        return CHRT_ERR_PLAN;
    if (chrt_mpi_is_over())
        return chrt_fail(ctx, CHRT_ERR_COMM, "enter: MPI is finalized");
    ctx->entered = false;
    CHRT_TRY(check_entry(ctx, ninputs, ninputs + noutputs, buffers, &code));
    int rc = MPI_Allreduce(&code, &least, 1, MPI_INT64_T, MPI_MIN, ctx->comm);
    if (ctx->broken)
        return chrt_repeat(ctx);
    if (rc != MPI_SUCCESS)
        return fail_mpi(ctx, "enter", rc);
    ctx->entered = least == INT64_MAX;
    if (ctx->entered)
        return CHRT_OK;
    if (least == BROKEN) {
        ctx->broken = CHRT_ERR_MPI;
        ctx->told = true;
        return chrt_fail(ctx, CHRT_ERR_MPI, "an earlier op failed on another rank");
    }
    return refuse_entry(ctx, ninputs, ninputs + noutputs, buffers, least);
}

ChrtStatus chrt_reenter(ChrtCtx *ctx)
{
    if (!ctx)
        return CHRT_ERR_PLAN;
    if (ctx->broken)
        return chrt_repeat(ctx);
    if (chrt_mpi_is_over())
        return chrt_fail(ctx, CHRT_ERR_COMM, "rerun: MPI is finalized");
    if (!ctx->entered)
        return chrt_fail(ctx, CHRT_ERR_STATE, "rerun: no run before it whose buffers were accepted");
    return CHRT_OK;
}
