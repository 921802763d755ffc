// Uses the shared library as a program that loads plug-ins does: opens it with dlopen(), writes a
// text and closes it, twice. The text is written on a thread with a stack of 64 KiB, and again
// while floating-point exceptions are trapped, as some hosts do in order to find bugs.
//
//   shared_library_test LIBRARY
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fenv.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "gpt2/gpt2.h"
#include "support/check.h"

#define MODEL GPT2_MODELS_DIR "/gpt2-stories"

static const char greedy_text[] =
    ", there was a little girl named Lily. She loved to play with her toys";

// The functions that the test looks up, under their own names. C99 has no other conversion from an
// object pointer to a function pointer.
#define LOOK_UP(function)                                 \
  __typeof__(&gpt2_##function) function = NULL;           \
  *(void**)&function = dlsym(library, "gpt2_" #function); \
  CHECK(function != NULL)

static void* write_text(void* library) {
  LOOK_UP(model_load);
  LOOK_UP(tokenizer_load);
  LOOK_UP(session_new);
  LOOK_UP(generate_text);
  LOOK_UP(sampling_options_init);
  LOOK_UP(generate_options_init);
  LOOK_UP(generation_free);
  LOOK_UP(session_free);
  LOOK_UP(tokenizer_free);
  LOOK_UP(model_free);
  LOOK_UP(last_error);
  if (failures != 0) return NULL;

  gpt2_model* model = NULL;
  gpt2_tokenizer* tokenizer = NULL;
  gpt2_session* session = NULL;
  gpt2_generation* text = NULL;
  gpt2_sampling_options greedy;
  gpt2_generate_options options;
  CHECK(sampling_options_init(&greedy, sizeof greedy) == GPT2_OK);
  CHECK(generate_options_init(&options, sizeof options) == GPT2_OK);
  greedy.temperature = 0.0f;
  options.sampling = &greedy;
  options.max_new_tokens = 16;
  if (model_load(MODEL, NULL, &model) || tokenizer_load(MODEL, &tokenizer) ||
      session_new(model, NULL, &session) ||
      generate_text(session, tokenizer, "Once upon a time", 16, &options, &text)) {
    fprintf(stderr, "%s\n", last_error());
    ++failures;
  } else {
    CHECK(strcmp(text->text, greedy_text) == 0);
  }
  generation_free(text);
  session_free(session);
  tokenizer_free(tokenizer);
  model_free(model);
  return NULL;
}

static void write_on_small_stack(void* library) {
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, 64 * 1024) == 0);
  CHECK(pthread_create(&thread, &attributes, write_text, library) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(pthread_attr_destroy(&attributes) == 0);
}

int main(int argc, char* argv[]) {
  if (argc != 2) return 2;
  for (int round = 0; round < 2; ++round) {
    void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    write_on_small_stack(library);
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW);  // not on every CPU
    write_text(library);
    fedisableexcept(FE_ALL_EXCEPT);
    CHECK(dlclose(library) == 0);
  }
  return failures != 0;
}
