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

static const char greedy_request[] =
    "{\"prompt\": \"Once upon a time\", \"do_sample\": false, \"max_new_tokens\": 16}";
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
  LOOK_UP(run_in_session);
  LOOK_UP(run_result);
  LOOK_UP(run_free);
  LOOK_UP(free);
  LOOK_UP(session_free);
  LOOK_UP(tokenizer_free);
  LOOK_UP(model_free);
  LOOK_UP(last_error);
  if (failures != 0) return NULL;

  gpt2_model* loaded = NULL;
  gpt2_tokenizer* text = NULL;
  gpt2_session* session = NULL;
  gpt2_run* run = NULL;
  gpt2_bytes* json = NULL;
  if (model_load(MODEL, NULL, NULL, NULL, &loaded) || tokenizer_load(MODEL, &text) ||
      session_new(loaded, NULL, NULL, &session) ||
      run_in_session(session, text, greedy_request, NULL, &run) || run_result(run, &json)) {
    fprintf(stderr, "%s\n", last_error());
    ++failures;
  } else {
    CHECK(strstr(json->data, greedy_text) != NULL);
  }
  free(json);
  run_free(run);
  session_free(session);
  tokenizer_free(text);
  model_free(loaded);
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
