/*===- llm.h - Text generation with the Weft runtime ----------------------===*\
|*                                                                            *|
|* A weft_llm is one growing sequence of tokens of a decoder plan: append     *|
|* text, generate, append more, rewind. What was computed stays in a cache,   *|
|* so a second turn costs only its own tokens. docs/generation.md is the      *|
|* guide, examples/generate.c a complete program.                             *|
|*                                                                            *|
|* The rules of weft.h about errors, ownership and compatibility hold here.   *|
|*  - Threads: a weft_llm is used by one thread at a time; a call during      *|
|*    another one is refused with WEFT_INVALID_ARGUMENT. Several of one plan  *|
|*    are independent.                                                        *|
|*  - Texts are UTF-8 with a length in bytes, without a terminating zero.     *|
|*  - Output arrays: `capacity` is what the caller has room for. The count is *|
|*    always set to what there is, also when the call fails with              *|
|*    WEFT_LIMIT_EXCEEDED because of too little room, so that a call with     *|
|*    capacity 0 asks for the size. Nothing is written in that case.          *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef WEFT_LLM_H
#define WEFT_LLM_H

#include "weft.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_llm weft_llm;

/** Sizes; 0 is the default of each. */
typedef struct weft_llm_options {
  size_t struct_size;
  /** Most tokens of the sequence, prompt and output together; default: the
   *  model's own context, which may need much memory. */
  int64_t context_length;
  /** Most tokens computed in one step; longer texts take several. 512. */
  int64_t tokens_per_step;
} weft_llm_options;

/** Makes a generator for a plan that has an entry `step`. The cache and all
 *  buffers are allocated here. `options` may be NULL. The plan may be closed
 *  while the generator lives. Errors: WEFT_UNSUPPORTED (no decoder, or no code
 *  for this machine), WEFT_LIMIT_EXCEEDED (context), WEFT_OUT_OF_MEMORY,
 *  WEFT_CORRUPT (model facts or tokenizer). */
WEFT_API weft_status weft_llm_create(weft_plan *plan,
                                     const weft_llm_options *options,
                                     weft_llm **llm);

WEFT_API void weft_llm_destroy(weft_llm *llm);

/** Facts about a model. */
typedef struct weft_llm_info {
  size_t struct_size;
  int64_t vocabulary_size; /**< Ids are 0 to this - 1. */
  int64_t context_length;  /**< Of this generator. */
  int64_t length;          /**< Tokens in the sequence now. */
  int32_t bos_id;          /**< Beginning of sequence; -1: none. */
  int32_t eos_id;          /**< First end-of-sequence id; -1: none. */
  int32_t has_tokenizer;   /**< 0: only ids go in and out. */
} weft_llm_info;

/** Fills `info`, whose struct_size the caller has set. */
WEFT_API weft_status weft_llm_get_info(const weft_llm *llm,
                                       weft_llm_info *info);

/*===- Text and ids -------------------------------------------------------===*/

/** How weft_llm_encode treats a text; values are or-ed. */
enum {
  /** The text starts a sequence: adds what the tokenizer adds, and a
   *  beginning-of-sequence id where the model wants one. */
  WEFT_ENCODE_START = 1
};

/** Ids of a text. Special tokens that are spelled in the text ("</s>") become
 *  their ids. Errors: WEFT_NOT_FOUND (no tokenizer), WEFT_INVALID_ARGUMENT (not
 *  UTF-8), WEFT_LIMIT_EXCEEDED (capacity). */
WEFT_API weft_status weft_llm_encode(const weft_llm *llm, const char *text,
                                     size_t length, uint32_t flags,
                                     int32_t *ids, size_t capacity,
                                     size_t *count);

/** Text of ids, without special tokens and without a terminating zero. */
WEFT_API weft_status weft_llm_decode(const weft_llm *llm, const int32_t *ids,
                                     size_t count, char *text, size_t capacity,
                                     size_t *length);

/*===- The sequence -------------------------------------------------------===*/

/** Adds ids to the end of the sequence; they are computed with the next
 *  generation. WEFT_LIMIT_EXCEEDED, naming both numbers, if the sequence would
 *  be longer than the context; WEFT_INVALID_ARGUMENT for ids outside the
 *  vocabulary. */
WEFT_API weft_status weft_llm_append(weft_llm *llm, const int32_t *ids,
                                     size_t count);

/** Shortens the sequence to its first `length` tokens; 0 empties it. */
WEFT_API weft_status weft_llm_rewind(weft_llm *llm, int64_t length);

/** The ids of the sequence, given and generated. */
WEFT_API weft_status weft_llm_get_tokens(const weft_llm *llm, int32_t *ids,
                                         size_t capacity, size_t *count);

/*===- Generation ---------------------------------------------------------===*/

/** How to generate; weft_generate_options_init fills in defaults. The order of
 *  the steps from logits to a token is documented in docs/generation.md. */
typedef struct weft_generate_options {
  size_t struct_size;
  int64_t max_tokens;
  double temperature;        /**< 0: greedy. */
  int64_t top_k;             /**< 0: off. */
  double top_p;              /**< 1: off. */
  double min_p;              /**< 0: off. */
  double repetition_penalty; /**< 1: off; prompt and output. */
  double presence_penalty;   /**< 0: off; output only. */
  double frequency_penalty;  /**< 0: off; output only. */
  uint64_t seed;    /**< Equal seeds and requests draw equal numbers. */
  uint64_t request; /**< Tells samples of one seed apart. */
  /** The text ends before the first of these. Zero-terminated. */
  const char *const *stop_strings;
  size_t stop_string_count;
  int32_t ignore_eos;        /**< 1: end-of-sequence ids do not stop. */
  int32_t log_probabilities; /**< 1: fill weft_token.log_probability. */
} weft_generate_options;

/** Sets everything to the model's own recommendation (greedy if it has none),
 *  128 tokens and no stop strings, struct_size included. */
WEFT_API weft_status weft_generate_options_init(const weft_llm *llm,
                                                weft_generate_options *options);

/** One generated token. */
typedef struct weft_token {
  int32_t id;
  int64_t position;       /**< In the sequence, from 0. */
  double log_probability; /**< Natural, by the model itself; 0 if not asked. */
  /** Text that is complete with this token: whole characters, possibly none,
   *  never a part of a stop string. Valid during the call. The last call of a
   *  generation may have only text that was held back, and id -1. */
  const char *text;
  size_t text_length;
} weft_token;

/** Called for each token on the calling thread; return 0 to go on, anything
 *  else to cancel. Must not use the weft_llm. */
typedef int (*weft_token_callback)(const weft_token *token, void *user);

typedef enum weft_finish_reason WEFT_FIXED_TYPE {
  WEFT_FINISH_STOP = 1,         /**< End-of-sequence id or stop string. */
  WEFT_FINISH_LENGTH = 2,       /**< max_tokens were generated. */
  WEFT_FINISH_CONTEXT_FULL = 3, /**< No room for another token. */
  WEFT_FINISH_CANCELLED = 4     /**< The callback said so. */
} weft_finish_reason;

typedef struct weft_generate_result {
  size_t struct_size;
  weft_finish_reason reason;
  int32_t stop_id;          /**< The id that ended the text; -1: none. It is
                                 not in the sequence. */
  int64_t prompt_tokens;    /**< Computed before the first new token. */
  int64_t generated_tokens; /**< Added to the sequence. */
  double prompt_seconds;    /**< Until the first new token. */
  double generate_seconds;  /**< For all others. */
} weft_generate_result;

/** Continues the sequence, which must not be empty. `callback` and `result` may
 *  be NULL; result->struct_size must be set. A cancelled generation is WEFT_OK
 *  with its reason. After an error the sequence keeps the tokens that were
 *  generated before it. Without a tokenizer tokens have no text and stop
 *  strings are an error. Errors: WEFT_INVALID_ARGUMENT (an option, or an empty
 *  sequence), WEFT_INTERNAL (a logit is not a number). */
WEFT_API weft_status weft_llm_generate(weft_llm *llm,
                                       const weft_generate_options *options,
                                       weft_token_callback callback, void *user,
                                       weft_generate_result *result);

/** Scores a text on its own; the sequence is not touched, but its cache must
 *  have room for the text, of which the last token is only predicted: it may
 *  have one more than the context. WEFT_LIMIT_EXCEEDED without that room.
 *  `log_probabilities` (NULL or count - 1 elements) gets
 *  log p(ids[i + 1] | ids[0..i]); `total` (NULL or one) the sum of -log p.
 *  exp(total / (count - 1)) is the perplexity. */
WEFT_API weft_status weft_llm_score(weft_llm *llm, const int32_t *ids,
                                    size_t count, double *log_probabilities,
                                    double *total);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_LLM_H */
