/*===- generate.c - Text from a prompt through the C interface ------------===*\
|*                                                                            *|
|*   generate MODEL.weft PROMPT [MAX_TOKENS]                                  *|
|*                                                                            *|
|* Prints the prompt and what the model makes of it, greedily, piece by piece.*|
|* C99; link with -lweft.                                                     *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include <weft/llm.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Called for every token: print what text is complete by now. */
static int print_token(const weft_token *token, void *user) {
  FILE *out = user;
  size_t written = fwrite(token->text, 1, token->text_length, out);
  /* A full disk or a closed pipe ends the generation. */
  return written != token->text_length || fflush(out) != 0;
}

/* Encodes the prompt and makes it the start of the sequence. */
static weft_status append_prompt(weft_llm *llm, const char *prompt) {
  size_t length = strlen(prompt);
  size_t count = 0;
  int32_t *ids;
  weft_status status;

  /* Capacity 0 asks for the number of ids. */
  status =
      weft_llm_encode(llm, prompt, length, WEFT_ENCODE_START, NULL, 0, &count);
  if (status != WEFT_OK && status != WEFT_LIMIT_EXCEEDED)
    return status;
  ids = malloc((count + 1) * sizeof *ids);
  if (ids == NULL)
    return WEFT_OUT_OF_MEMORY;
  status = weft_llm_encode(llm, prompt, length, WEFT_ENCODE_START, ids, count,
                           &count);
  if (status == WEFT_OK)
    status = weft_llm_append(llm, ids, count);
  free(ids);
  return status;
}

static weft_status generate(weft_llm *llm, const char *prompt,
                            int64_t max_tokens) {
  weft_generate_options options;
  weft_generate_result result;
  weft_status status = append_prompt(llm, prompt);

  if (status != WEFT_OK)
    return status;
  status = weft_generate_options_init(llm, &options);
  if (status != WEFT_OK)
    return status;
  options.max_tokens = max_tokens;
  options.temperature = 0;

  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  fputs(prompt, stdout);
  status = weft_llm_generate(llm, &options, print_token, stdout, &result);
  putchar('\n');
  fflush(stdout);
  if (status == WEFT_OK)
    fprintf(stderr, "%ld tokens, finish reason %d\n",
            (long)result.generated_tokens, (int)result.reason);
  return status;
}

int main(int argc, char **argv) {
  weft_plan *plan = NULL;
  weft_llm *llm = NULL;
  weft_status status;
  char *end = "";
  long max_tokens = argc > 3 ? strtol(argv[3], &end, 10) : 128;

  if (argc < 3 || argc > 4 || *end != '\0' || max_tokens < 0) {
    fprintf(stderr, "usage: %s MODEL.weft PROMPT [MAX_TOKENS]\n", argv[0]);
    return 2;
  }
  status = weft_plan_open(argv[1], NULL, &plan);
  if (status == WEFT_OK)
    status = weft_llm_create(plan, NULL, &llm);
  if (status == WEFT_OK)
    status = generate(llm, argv[2], max_tokens);
  if (status != WEFT_OK)
    fprintf(stderr, "error: %s\n", weft_last_error());
  weft_llm_destroy(llm);
  weft_plan_close(plan);
  if (ferror(stdout)) {
    fprintf(stderr, "error: cannot write to standard output\n");
    return 1;
  }
  return status == WEFT_OK ? 0 : 1;
}
