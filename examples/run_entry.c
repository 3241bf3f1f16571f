/* run_entry.c - Runs one entry of a compiled plan once.
 *
 *   run_entry PLAN.weft ENTRY [SYMBOL=VALUE ...]
 *
 * Shows the whole C interface in order: open a plan, ask what an entry takes,
 * make tensors for it, make a session, run, read the outputs. Every symbol of
 * the plan needs a value: those per session (cache_blocks) and the sizes of
 * this run (tokens). Inputs are zeros, but those of a model's entry that say
 * where tokens are: all tokens are one sequence there.
 *
 * Prints the first values of outputs of f32 and i32.
 *
 * Build: cc -std=c99 run_entry.c -lweft
 */

#include <weft/weft.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SYMBOLS = 32, MAX_TENSORS = 64 };

/* Each failing call leaves a sentence that says what to do about it. */
static int fail(const char *what) {
  fprintf(stderr, "run_entry: %s: %s\n", what, weft_last_error());
  return 1;
}

/* Bytes of an element; 0 for a type that this program does not know. */
static size_t get_element_size(weft_dtype dtype) {
  switch (dtype) {
  case WEFT_I8:
  case WEFT_U8:
  case WEFT_BOOL:
    return 1;
  case WEFT_F16:
  case WEFT_BF16:
  case WEFT_I16:
  case WEFT_U16:
    return 2;
  case WEFT_F32:
  case WEFT_I32:
  case WEFT_U32:
    return 4;
  case WEFT_F64:
  case WEFT_I64:
  case WEFT_U64:
    return 8;
  }
  return 0;
}

static size_t count_elements(const weft_tensor *tensor) {
  size_t count = 1;
  int i;
  for (i = 0; i < tensor->rank; ++i)
    count *= (size_t)tensor->shape[i];
  return count;
}

/* Splits "tokens=3" in place. */
static int parse_symbol(char *text, weft_symbol *symbol) {
  char *equals = strchr(text, '=');
  char *end = NULL;
  if (!equals || equals == text)
    return 0;
  *equals = '\0';
  symbol->name = text;
  symbol->value = strtoll(equals + 1, &end, 10);
  return end != equals + 1 && *end == '\0';
}

/* Makes a zeroed tensor for each input or output of the entry. */
static int make_tensors(const weft_plan *plan, const char *entry,
                        weft_tensor_role role, const weft_symbol *symbols,
                        size_t symbol_count, weft_tensor *tensors,
                        size_t *count) {
  weft_tensor_info info;
  weft_status status;
  for (*count = 0; *count < MAX_TENSORS; ++*count) {
    weft_tensor *tensor = &tensors[*count];
    int i;
    status = weft_plan_tensor(plan, entry, role, *count, symbols, symbol_count,
                              &info);
    if (status == WEFT_NOT_FOUND && *count > 0)
      return 1; /* Past the last one. */
    if (status != WEFT_OK)
      return 0;
    tensor->name = info.name;
    tensor->dtype = info.dtype;
    tensor->rank = info.rank;
    for (i = 0; i < info.rank; ++i) {
      if (info.shape[i] < 0) {
        fprintf(stderr, "run_entry: '%s' is %s; give a value for each symbol\n",
                info.name, info.shape_text);
        exit(2);
      }
      tensor->shape[i] = info.shape[i];
    }
    if (get_element_size(info.dtype) == 0) {
      fprintf(stderr, "run_entry: '%s' has the unknown element type %d\n",
              info.name, (int)info.dtype);
      exit(1);
    }
    tensor->data =
        calloc(count_elements(tensor) + 1, get_element_size(info.dtype));
    if (!tensor->data) {
      fprintf(stderr, "run_entry: out of memory for '%s'\n", info.name);
      exit(1);
    }
    printf("%s %s %s\n", role == WEFT_INPUT ? "input " : "output", info.name,
           info.shape_text);
  }
  return 1;
}

/* Where the tokens of a model are: one sequence from position 0 on, whose
 * blocks of the cache follow each other. docs/architecture.md has the meaning
 * of each input; values out of range are refused by weft_session_run. */
static void place_tokens(const weft_tensor *input, int32_t tokens) {
  int32_t *values = input->data;
  size_t count = count_elements(input), i;
  if (input->dtype != WEFT_I32 || input->rank == 0)
    return;
  if (!strcmp(input->name, "block_table"))
    count = input->rank == 2 && input->shape[0] != 0 ? input->shape[1] : 0;
  if (!strcmp(input->name, "positions") || !strcmp(input->name, "slots") ||
      !strcmp(input->name, "block_table"))
    for (i = 0; i < count; ++i)
      values[i] = (int32_t)i;
  if (!strcmp(input->name, "sequence_starts"))
    for (i = 1; i < count; ++i)
      values[i] = tokens;
  if (!strcmp(input->name, "context_lengths") && count != 0)
    values[0] = tokens;
}

static void print_values(const weft_tensor *tensor) {
  size_t count = count_elements(tensor), i;
  printf("%s:", tensor->name);
  for (i = 0; i < count && i < 8; ++i) {
    if (tensor->dtype == WEFT_F32)
      printf(" %g", ((const float *)tensor->data)[i]);
    else if (tensor->dtype == WEFT_I32)
      printf(" %d", (int)((const int32_t *)tensor->data)[i]);
  }
  printf("%s\n", count > 8 ? " ..." : "");
}

int main(int argc, char **argv) {
  weft_plan *plan = NULL;
  weft_session *session = NULL;
  weft_session_options options;
  weft_symbol symbols[MAX_SYMBOLS];
  weft_tensor inputs[MAX_TENSORS], outputs[MAX_TENSORS];
  size_t symbol_count = 0, input_count = 0, output_count = 0, i;
  int32_t tokens = 0;
  int argument;

  if (argc < 3 || argc - 3 > MAX_SYMBOLS) {
    fprintf(stderr, "usage: run_entry PLAN.weft ENTRY [SYMBOL=VALUE ...]\n");
    return 2;
  }
  for (argument = 3; argument < argc; ++argument) {
    if (!parse_symbol(argv[argument], &symbols[symbol_count++])) {
      fprintf(stderr, "run_entry: expected SYMBOL=VALUE\n");
      return 2;
    }
  }

  printf("weft %s\n", weft_version());
  if (weft_plan_open(argv[1], NULL, &plan) != WEFT_OK)
    return fail("cannot open the plan");
  if (!make_tensors(plan, argv[2], WEFT_INPUT, symbols, symbol_count, inputs,
                    &input_count) ||
      !make_tensors(plan, argv[2], WEFT_OUTPUT, symbols, symbol_count, outputs,
                    &output_count))
    return fail("cannot describe the entry");

  for (i = 0; i < input_count; ++i)
    if (!strcmp(inputs[i].name, "tokens") && inputs[i].rank == 1)
      tokens = (int32_t)inputs[i].shape[0];
  for (i = 0; i < input_count; ++i)
    place_tokens(&inputs[i], tokens);

  /* The same values are the limits of the session and the sizes of the run. */
  memset(&options, 0, sizeof(options));
  options.struct_size = sizeof(options);
  options.symbols = symbols;
  options.symbol_count = symbol_count;
  if (weft_session_create(plan, &options, &session) != WEFT_OK)
    return fail("cannot make a session");
  if (weft_session_run(session, argv[2], inputs, input_count, outputs,
                       output_count, symbols, symbol_count) != WEFT_OK)
    return fail("cannot run the entry");
  for (i = 0; i < output_count; ++i)
    print_values(&outputs[i]);

  for (i = 0; i < input_count; ++i)
    free(inputs[i].data);
  for (i = 0; i < output_count; ++i)
    free(outputs[i].data);
  weft_session_destroy(session);
  weft_plan_close(plan);
  return 0;
}
