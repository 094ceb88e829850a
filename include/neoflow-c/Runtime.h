/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The C interface of the runtime: load a bundle, hold a session, run its
 * functions. Stable within a major version. Functions that can fail return a
 * status: NULL for success, else an object with a message that the caller
 * frees. Handles may be used from several threads at once; freeing NULL is
 * allowed everywhere.
 */

#ifndef NEOFLOW_C_RUNTIME_H
#define NEOFLOW_C_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct neoflow_status neoflow_status;
typedef struct neoflow_bundle neoflow_bundle;
typedef struct neoflow_session neoflow_session;

typedef enum neoflow_type {
  NEOFLOW_F16 = 0,
  NEOFLOW_BF16 = 1,
  NEOFLOW_F32 = 2,
  NEOFLOW_F64 = 3,
  NEOFLOW_I1 = 4,
  NEOFLOW_I8 = 5,
  NEOFLOW_I32 = 6,
  NEOFLOW_I64 = 7
} neoflow_type;

/** The largest rank that this interface passes. */
#define NEOFLOW_MAX_RANK 16

/** A dense row-major tensor in memory of the caller. */
typedef struct neoflow_tensor {
  neoflow_type type;
  int32_t rank;
  int64_t shape[NEOFLOW_MAX_RANK];
  void *data;
} neoflow_tensor;

/** The version of the library, "0.1.0"; never freed. */
const char *neoflow_runtime_version(void);

/** The message of a failure; valid until the status is freed. */
const char *neoflow_status_message(const neoflow_status *status);
void neoflow_status_free(neoflow_status *status);

/** Opens a bundle file and checks its manifest. */
neoflow_status *neoflow_bundle_load(const char *path, neoflow_bundle **bundle);
/** Sessions that use the bundle stay valid. */
void neoflow_bundle_free(neoflow_bundle *bundle);
size_t neoflow_bundle_function_count(const neoflow_bundle *bundle);
/** The name of a function, or NULL; valid as long as the bundle. */
const char *neoflow_bundle_function_name(const neoflow_bundle *bundle,
                                         size_t index);

/**
 * Loads the kernels of the bundle on a device ("cpu"). `threads` 0 takes all
 * CPUs that the process may use. Parameters have no values yet.
 */
neoflow_status *neoflow_session_create(const neoflow_bundle *bundle,
                                       const char *device, uint32_t threads,
                                       neoflow_session **session);
void neoflow_session_free(neoflow_session *session);

/** Gives parameters and states their initial values. */
neoflow_status *neoflow_session_initialize(neoflow_session *session,
                                           uint64_t seed);
/** Sets the learning rate of the steps to come. */
neoflow_status *neoflow_session_set_learning_rate(neoflow_session *session,
                                                  double rate);
/** The number of steps done. */
int64_t neoflow_session_step_count(const neoflow_session *session);

size_t neoflow_session_parameter_count(const neoflow_session *session);
/**
 * Describes a parameter or state; `tensor->data` is set to NULL. The name is
 * valid as long as the session.
 */
neoflow_status *neoflow_session_describe(const neoflow_session *session,
                                         size_t index, const char **name,
                                         neoflow_tensor *tensor);
/** Copies a value into a parameter or state; type and shape must agree. */
neoflow_status *neoflow_session_set(neoflow_session *session, const char *name,
                                    const neoflow_tensor *value);
/** Copies a parameter or state out; type and shape must agree. */
neoflow_status *neoflow_session_get(const neoflow_session *session,
                                    const char *name,
                                    const neoflow_tensor *value);

/**
 * Runs the specialisation of a function that fits the inputs. `inputs` are
 * those arguments, in order, that are neither parameter, state, seed, step nor
 * learning rate; their memory is read in place. `outputs` has an entry for
 * each result: type, rank and shape are filled in; memory with `data` other
 * than NULL receives the value and must be large enough, which
 * neoflow_session_result_shapes tells beforehand.
 */
neoflow_status *
neoflow_session_call(neoflow_session *session, const char *function,
                     const neoflow_tensor *inputs, size_t input_count,
                     neoflow_tensor *outputs, size_t output_count);
/** The same for `train_step`, and counts a step. */
neoflow_status *neoflow_session_step(neoflow_session *session,
                                     const neoflow_tensor *inputs,
                                     size_t input_count,
                                     neoflow_tensor *outputs,
                                     size_t output_count);
/**
 * Fills in type, rank and shape of the results of a call with such inputs, and
 * leaves `data` alone. With `outputs` NULL only the number of results is
 * stored in `*output_count`.
 */
neoflow_status *neoflow_session_result_shapes(const neoflow_session *session,
                                              const char *function,
                                              const neoflow_tensor *inputs,
                                              size_t input_count,
                                              neoflow_tensor *outputs,
                                              size_t *output_count);

/** Replaces the file by all parameters and states, or leaves it as it was. */
neoflow_status *neoflow_session_save(const neoflow_session *session,
                                     const char *path);
/** Loads every parameter, and those states that are there, from a file. */
neoflow_status *neoflow_session_load(neoflow_session *session,
                                     const char *path);

#ifdef __cplusplus
}
#endif

#endif // NEOFLOW_C_RUNTIME_H
