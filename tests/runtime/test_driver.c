/* SPDX-License-Identifier: Apache-2.0
 *
 * test_driver.c - a program of the shape that the compiler emits with --driver: tensor-parallel sums handed to the next
 * pipeline stage, and a second tensor that stays partial on one axis.
 *
 *   mpirun -n 8 test_driver f32|bf16|i8|wrong|same [driver options]
 *
 * 'wrong' runs an optimized schedule with a fault on one rank, to see the driver find it; 'same' runs one schedule
 * twice.
 */
#include "chrt_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AXIS_pp = 1, AXIS_tp };
enum { DIM_seq, DIM_hidden };

static const ChrtMesh mesh = {.naxes = 2, .axis = {{"pp", 2}, {"tp", 4}}};

#define SHAPE .ndims = 2, .size = {61, 10}
static ChrtType type_x0 = {SHAPE, .partial = {AXIS_tp}, .at = {{AXIS_pp, 0}}};
static ChrtType type_x1 = {SHAPE, .at = {{AXIS_pp, 0}}};
static ChrtType type_1 = {SHAPE, .split = {[DIM_seq] = {AXIS_tp}}, .at = {{AXIS_pp, 0}}};
static ChrtType type_2 = {SHAPE, .split = {[DIM_seq] = {AXIS_tp}}, .at = {{AXIS_pp, 1}}};
static ChrtType type_x2 = {SHAPE, .at = {{AXIS_pp, 1}}};
static ChrtType type_y0 = {SHAPE, .partial = {AXIS_tp, AXIS_pp}};
static ChrtType type_y1 = {SHAPE, .split = {[DIM_hidden] = {AXIS_tp}}, .partial = {AXIS_pp}};

enum { BASE_X1, BASE_X2, BASE_Y1, OPT_1, OPT_2, OPT_X2, OPT_Y1, NSTEPS };

static const ChrtStep steps[NSTEPS] = {
    [BASE_X1] = {CHRT_ALL_REDUCE, "%x1", &type_x0, &type_x1, .over = {AXIS_tp}},
    [BASE_X2] = {CHRT_SHIFT, "%x2", &type_x1, &type_x2, .axis = AXIS_pp, .source = 0, .target = 1},
    [BASE_Y1] = {CHRT_REDUCE_SCATTER, "%y1", &type_y0, &type_y1, .over = {AXIS_tp}, .dim = DIM_hidden},
    [OPT_1] = {CHRT_REDUCE_SCATTER, "%1", &type_x0, &type_1, .over = {AXIS_tp}, .dim = DIM_seq},
    [OPT_2] = {CHRT_SHIFT, "%2", &type_1, &type_2, .axis = AXIS_pp, .source = 0, .target = 1},
    [OPT_X2] = {CHRT_ALL_GATHER, "%x2", &type_2, &type_x2, .over = {AXIS_tp}, .dim = DIM_seq},
    [OPT_Y1] = {.op = CHRT_REDUCE_EXCHANGE, "%y1", &type_y0, &type_y1},
};

typedef struct Plan {
    ChrtCtx *rt;
    unsigned char *arena;
    ChrtTask *task[NSTEPS];
    const void *in[2]; /* of the last run */
    void *out[2];
} Plan;

static bool wrong;

enum { BLOCK_BYTES = 61 * 10 * 8 };

static int create(MPI_Comm comm, void **plan, char *message)
{
    static const ChrtAxes groups[] = {{AXIS_tp}, {AXIS_pp}};
    Plan *p = calloc(1, sizeof *p);
    if (!p)
        return CHRT_ERR_MEMORY;
    ChrtStatus st = chrt_create(comm, &mesh, groups, 2, UINT64_C(0x1234), "test", &p->rt, message);
    if (st == CHRT_OK) {
        st = chrt_arena(p->rt, 3 * BLOCK_BYTES, &p->arena);
        for (int k = 0; k < NSTEPS && st == CHRT_OK; k++)
            st = chrt_prepare(p->rt, &steps[k], 1, NULL, &p->task[k]);
        if (st < 0)
            st = chrt_abandon(p->rt, st, message);
    }
    if (st < 0) {
        free(p);
        return st;
    }
    *plan = p;
    return CHRT_OK;
}

static int enter(void *plan, const void *const *in, void *const *out)
{
    Plan *p = plan;
    memcpy(p->in, in, sizeof p->in);
    memcpy(p->out, out, sizeof p->out);
    return chrt_enter(p->rt, 2, 2,
                      (const ChrtBuffer[]){
                          {"x", &type_x0, in[0]},
                          {"y", &type_y0, in[1]},
                          {"x2", &type_x2, out[0]},
                          {"y1", &type_y1, out[1]},
                      });
}

static int rerun_baseline(void *plan)
{
    Plan *p = plan;
    ChrtStatus st;
    void *v1 = p->arena;
    if ((st = chrt_reenter(p->rt)) < 0)
        return st;
    if ((st = chrt_run(p->task[BASE_X1], p->in[0], v1)) < 0)
        return st;
    if ((st = chrt_run(p->task[BASE_X2], v1, p->out[0])) < 0)
        return st;
    return chrt_run(p->task[BASE_Y1], p->in[1], p->out[1]);
}

/* The two tensors are under way together. */
static int rerun_optimized(void *plan)
{
    Plan *p = plan;
    ChrtStatus st;
    void *v1 = p->arena, *v2 = p->arena + BLOCK_BYTES;
    if ((st = chrt_reenter(p->rt)) < 0)
        return st;
    if ((st = chrt_start(p->task[OPT_Y1], p->in[1], p->out[1])) < 0)
        return st;
    if ((st = chrt_run(p->task[OPT_1], p->in[0], v1)) < 0)
        return st;
    if ((st = chrt_run(p->task[OPT_2], v1, v2)) < 0)
        return st;
    if ((st = chrt_run(p->task[OPT_X2], v2, p->out[0])) < 0)
        return st;
    if ((st = chrt_wait(p->task[OPT_Y1])) < 0)
        return st;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (wrong && rank == mesh.axis[0].size * mesh.axis[1].size - 1)
        ((unsigned char *)p->out[0])[0] ^= 1;
    return CHRT_OK;
}

static void destroy(void *plan)
{
    Plan *p = plan;
    chrt_destroy(p->rt);
    free(p);
}

static const char *message_of(void *plan)
{
    return chrt_error_message(((Plan *)plan)->rt);
}

int main(int argc, char **argv)
{
    static const ChrtDriverInput inputs[] = {{"x", &type_x0, 0}, {"y", &type_y0, 1}};
    static const ChrtDriverOutput outputs[] = {{"x2", &type_x2, 0}, {"y1", &type_y1, 1}};
    static ChrtDriver driver = {
        .plan = "test",
        .mesh = &mesh,
        .ninputs = 2,
        .inputs = inputs,
        .noutputs = 2,
        .outputs = outputs,
        .baseline = {create, enter, rerun_baseline, destroy, message_of, 4000, 3000},
        .optimized = {create, enter, rerun_optimized, destroy, message_of, 2000, 1500},
    };
    ChrtDtype dtype = CHRT_F32;
    if (argc > 1 && !strcmp(argv[1], "bf16"))
        dtype = CHRT_BF16;
    if (argc > 1 && !strcmp(argv[1], "i8"))
        dtype = CHRT_I8;
    wrong = argc > 1 && !strcmp(argv[1], "wrong");
    ChrtType *types[] = {&type_x0, &type_x1, &type_1, &type_2, &type_x2, &type_y0, &type_y1};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        types[i]->dtype = dtype;
    if (argc > 1 && !strcmp(argv[1], "same")) {
        driver.optimized = driver.baseline;
        driver.same = true;
    }
    if (argc > 1)
        argv[1] = argv[0];
    return chrt_driver_main(argc - 1, argv + 1, &driver);
}
