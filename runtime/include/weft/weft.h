/*===- weft.h - C interface of the Weft runtime ---------------------------===*\
|*                                                                            *|
|* Opens compiled plans (.weft files) and runs their entries on tensors of    *|
|* the caller. weft/llm.h adds text generation, weft/weft.hpp wraps this      *|
|* header for C++. docs/c-api.md is a guided tour.                            *|
|*                                                                            *|
|* Rules that hold for every function                                         *|
|*  - Errors: a function that can fail returns weft_status. On anything but   *|
|*    WEFT_OK it has no effect, out parameters are set to NULL or zero, and   *|
|*    weft_last_error() is a sentence that says what was found, what was      *|
|*    expected and what to do. No exception leaves the library, and it        *|
|*    never ends the process for bad input.                                   *|
|*  - Ownership: what a *_open or *_create function gives is freed with the   *|
|*    matching *_close or *_destroy, which accept NULL. Strings and structs   *|
|*    that point into a handle live as long as the handle.                    *|
|*  - Threads: a plan may be used by several threads at once; a session by    *|
|*    one at a time (a second call meanwhile is refused). Different sessions  *|
|*    are independent; those of one plan share its threads and take turns.    *|
|*  - Compatibility: numbers of enums never change. Structs with a            *|
|*    `struct_size` grow at their end only; set it to sizeof of the struct.   *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#else
#define WEFT_API
#endif

/* A C program can pass any number where an enum is wanted. With a fixed type,
 * which C99 cannot say, every number is also a value for the C++ side, which
 * refuses those it does not know. */
#ifdef __cplusplus
#define WEFT_FIXED_TYPE : int32_t
extern "C" {
#else
#define WEFT_FIXED_TYPE
#endif

/** Version of this header: major.minor.patch. */
#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

/** Version of the loaded library, "0.1.0". Never fails; static storage. */
WEFT_API const char *weft_version(void);

/*===- Errors -------------------------------------------------------------===*/

/** What kind of failure happened. */
typedef enum weft_status WEFT_FIXED_TYPE {
  WEFT_OK = 0,
  WEFT_INVALID_ARGUMENT = 1, /**< The caller passed what is never valid. */
  WEFT_NOT_FOUND = 2,        /**< No such file, entry, tensor or symbol. */
  WEFT_CORRUPT = 3,          /**< A file's content contradicts itself. */
  WEFT_UNSUPPORTED = 4,      /**< Valid, but not on this build or machine. */
  WEFT_OUT_OF_MEMORY = 5,    /**< The message has the sizes. */
  WEFT_IO = 6,               /**< The system refused a file operation. */
  WEFT_CANCELLED = 7,        /**< A callback asked to stop. */
  WEFT_LIMIT_EXCEEDED = 8,   /**< More than the plan or session allows. */
  WEFT_INTERNAL = 70         /**< A bug in Weft; please report it. */
} weft_status;

/** The sentence about the last failure of a call of this thread; "" if there
 *  was none. Valid until the next failing call of the thread. */
WEFT_API const char *weft_last_error(void);

/*===- Tensors ------------------------------------------------------------===*/

/** Element types. */
typedef enum weft_dtype WEFT_FIXED_TYPE {
  WEFT_F32 = 1,
  WEFT_F16 = 2,
  WEFT_BF16 = 3,
  WEFT_F64 = 4,
  WEFT_I8 = 5,
  WEFT_U8 = 6,
  WEFT_I16 = 7,
  WEFT_I32 = 8,
  WEFT_I64 = 9,
  WEFT_BOOL = 10,
  WEFT_U16 = 11,
  WEFT_U32 = 12,
  WEFT_U64 = 13
} weft_dtype;

/** Most dimensions of a tensor. */
#define WEFT_MAX_RANK 8

/** A tensor in memory of the caller: contiguous, row-major, aligned to its
 *  element size at least (64 bytes is best). The library neither frees nor
 *  keeps it. Inputs are not written to. */
typedef struct weft_tensor {
  const char *name;
  void *data;
  weft_dtype dtype;
  int32_t rank;
  int64_t shape[WEFT_MAX_RANK];
} weft_tensor;

/** The value of a symbol: a size that the plan leaves open. */
typedef struct weft_symbol {
  const char *name;
  int64_t value;
} weft_symbol;

/*===- Plans --------------------------------------------------------------===*/

typedef struct weft_plan weft_plan;

typedef struct weft_plan_options {
  size_t struct_size;
  /** Threads for the kernels, the caller's included; 0: one per usable core. */
  uint32_t threads;
  /** "cpu", "cuda" (the first GPU), "cuda:N" or "null" (runs nothing; for
   * planning); NULL: what the plan was compiled for. */
  const char *device;
} weft_plan_options;

/** Opens a .weft file: maps it and validates everything but the weights' bytes.
 *  `options` may be NULL. Errors: WEFT_NOT_FOUND, WEFT_IO, WEFT_CORRUPT,
 *  WEFT_UNSUPPORTED (newer format). The file must not be modified in place
 *  while the plan is open; replacing it by a rename is fine. */
WEFT_API weft_status weft_plan_open(const char *path,
                                    const weft_plan_options *options,
                                    weft_plan **plan);

/** Closes a plan. Sessions of it stay valid; they keep what they need. */
WEFT_API void weft_plan_close(weft_plan *plan);

/** Model facts as JSON text (docs/generation.md); "" for NULL. */
WEFT_API const char *weft_plan_meta(const weft_plan *plan);

/** Name of the entry with a number from 0; NULL past the last one. */
WEFT_API const char *weft_plan_entry(const weft_plan *plan, size_t index);

typedef enum weft_tensor_role WEFT_FIXED_TYPE {
  WEFT_INPUT = 1,
  WEFT_OUTPUT = 2,
  WEFT_STATE = 3 /**< Of the whole plan: `entry` is not looked at. */
} weft_tensor_role;

/** What an entry expects or gives. */
typedef struct weft_tensor_info {
  const char *name;
  weft_dtype dtype;
  int32_t rank;
  /** -1 where the size depends on a symbol whose value was not given. */
  int64_t shape[WEFT_MAX_RANK];
  /** The shape for people: "[tokens, 64]". */
  const char *shape_text;
} weft_tensor_info;

/** Describes the input, output or state with a number from 0, with the sizes
 *  that it has for the given symbol values (none: NULL, 0). WEFT_NOT_FOUND past
 *  the last one, so that a loop can end there. */
WEFT_API weft_status weft_plan_tensor(const weft_plan *plan, const char *entry,
                                      weft_tensor_role role, size_t index,
                                      const weft_symbol *symbols,
                                      size_t symbol_count,
                                      weft_tensor_info *info);

typedef struct weft_symbol_info {
  const char *name;
  int64_t min, max;    /**< Inclusive; max is INT64_MAX without a limit. */
  int32_t per_session; /**< 1: fixed when a session is made; 0: per run. */
} weft_symbol_info;

/** Describes the symbol with a number from 0; WEFT_NOT_FOUND past the last. */
WEFT_API weft_status weft_plan_symbol(const weft_plan *plan, size_t index,
                                      weft_symbol_info *info);

/** Bytes that a session would take. */
typedef struct weft_memory {
  uint64_t weights;     /**< Mapped from the file on a CPU. */
  uint64_t state;       /**< KV caches. */
  uint64_t workspace;   /**< Temporary buffers of the largest entry. */
  uint64_t scratch;     /**< Of all threads. */
  uint64_t caller;      /**< Inputs and outputs of the largest entry. */
  uint64_t total;       /**< All of the above and the machine code. */
  uint64_t lower_bound; /**< The total with a perfect workspace. */
} weft_memory;

/** What a session with these symbols (as in weft_session_options) takes, before
 *  anything is allocated or loaded. Errors as weft_session_create, but for
 *  WEFT_OUT_OF_MEMORY. */
WEFT_API weft_status weft_plan_memory(const weft_plan *plan,
                                      const weft_symbol *symbols,
                                      size_t symbol_count, weft_memory *memory);

/*===- Sessions -----------------------------------------------------------===*/

typedef struct weft_session weft_session;

typedef struct weft_session_options {
  size_t struct_size;
  /** Values of per-session symbols, and the largest values of the others;
   *  those not given are the plan's maxima. */
  const weft_symbol *symbols;
  size_t symbol_count;
} weft_session_options;

/** Makes a session: loads the kernels if this is the plan's first one, and
 *  allocates states (zeroed) and workspace for the largest sizes. Nothing is
 *  allocated later. `options` may be NULL. Errors: WEFT_INVALID_ARGUMENT (a
 *  symbol has no value), WEFT_LIMIT_EXCEEDED, WEFT_NOT_FOUND (symbol name),
 *  WEFT_OUT_OF_MEMORY, WEFT_UNSUPPORTED (no kernel code for this machine). */
WEFT_API weft_status weft_session_create(weft_plan *plan,
                                         const weft_session_options *options,
                                         weft_session **session);

WEFT_API void weft_session_destroy(weft_session *session);

/** Runs an entry and returns when the outputs are written. Every input and
 *  output of the entry must be given once; tensors of different roles must not
 *  overlap. Symbols take their values from the shapes; pass `symbols` only for
 *  those that no shape shows. Everything is checked before anything runs,
 *  including the values of a model's i32 inputs (docs/architecture.md has their
 *  ranges); an entry of another plan defines what its inputs may be.
 *  Errors: WEFT_INVALID_ARGUMENT, WEFT_NOT_FOUND, WEFT_LIMIT_EXCEEDED. */
WEFT_API weft_status weft_session_run(
    weft_session *session, const char *entry, const weft_tensor *inputs,
    size_t input_count, const weft_tensor *outputs, size_t output_count,
    const weft_symbol *symbols, size_t symbol_count);

/** Copies `size` bytes of a state from byte `offset` on into `buffer`.
 *  WEFT_INVALID_ARGUMENT if the range is not inside the state. */
WEFT_API weft_status weft_session_read_state(weft_session *session,
                                             const char *name, uint64_t offset,
                                             void *buffer, size_t size);

/** Sets all states to zero, as in a new session. */
WEFT_API weft_status weft_session_reset(weft_session *session);

/** Starts writing a Chrome-trace JSON file of every command that the session
 *  runs, replacing an earlier trace; NULL ends the trace and completes the
 *  file, as does destroying the session. WEFT_IO with the reason, and for a
 *  file with other content, which stays. */
WEFT_API weft_status weft_session_trace(weft_session *session,
                                        const char *path);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_WEFT_H */
