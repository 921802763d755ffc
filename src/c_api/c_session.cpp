#include "c_api/arguments.h"
#include "c_api/handles.h"
#include "c_api/options.h"
#include "gpt2/session.h"

using namespace gpt2::c_api;

namespace gpt2::c_api {
namespace {

static_assert(static_cast<int>(KVType::automatic) == GPT2_KV_AUTO);
static_assert(static_cast<int>(KVType::f32) == GPT2_KV_F32);
static_assert(static_cast<int>(KVType::f16) == GPT2_KV_F16);

std::unique_ptr<gpt2_session> make_session(Session session) {
  return std::unique_ptr<gpt2_session>(new gpt2_session{.session = std::move(session)});
}

std::span<const TokenId> tokens_of(const gpt2_token* tokens, std::size_t n_tokens) {
  return span_of(tokens, n_tokens, "the list of tokens");
}

}  // namespace

Engine engine_for(const gpt2_model* model, const gpt2_engine* engine) {
  const Model& weights = checked(model).model;
  if (engine == nullptr) return Engine::shared(weights);
  const Engine& given = checked(engine).engine;
  if (given.model().transformer() != weights.transformer()) {
    reject("the engine is of another model: give one that was made for this model");
  }
  return given;
}

}  // namespace gpt2::c_api

gpt2_status gpt2_engine_new(const gpt2_model* model, const gpt2_engine_options* options,
                            gpt2_engine** out) {
  return guard_new(out, [&] {
    const gpt2_engine_options given = options_of(options);
    require_value(given.kv_type, GPT2_KV_F16, "the kv_type");
    const gpt2::EngineOptions made = {.threads = given.threads,
                                      .kv_type = static_cast<gpt2::KVType>(given.kv_type)};
    return std::unique_ptr<gpt2_engine>(
        new gpt2_engine{.engine = gpt2::Engine(checked(model).model, made)});
  });
}

gpt2_status gpt2_engine_threads(const gpt2_engine* engine, int32_t* threads) {
  return guard([&] {
    const gpt2::Engine& given = checked(engine).engine;
    require(threads, "the output pointer `threads`");
    *threads = given.threads();
  });
}

void gpt2_engine_free(gpt2_engine* engine) { release(engine); }

gpt2_status gpt2_session_new(const gpt2_model* model, const gpt2_session_options* options,
                             gpt2_session** out) {
  return guard_new(out, [&] {
    const gpt2_session_options given = options_of(options);
    return make_session(
        gpt2::Session(engine_for(model, given.engine), {.max_tokens = given.max_tokens}));
  });
}

gpt2_status gpt2_session_forward(gpt2_session* session, const gpt2_token* tokens, size_t n_tokens,
                                 const float** logits) {
  return guard([&] {
    gpt2::Session& sequence = checked(session).session;
    require(logits, "the output pointer `logits`");
    *logits = sequence.forward(tokens_of(tokens, n_tokens)).data();
  });
}

gpt2_status gpt2_session_append(gpt2_session* session, const gpt2_token* tokens, size_t n_tokens) {
  return guard([&] { checked(session).session.append(tokens_of(tokens, n_tokens)); });
}

gpt2_status gpt2_session_rewind(gpt2_session* session, size_t position) {
  return guard([&] { checked(session).session.rewind(position); });
}

gpt2_status gpt2_session_slide(gpt2_session* session, size_t keep, size_t room, size_t* dropped) {
  return guard([&] {
    gpt2::Session& sequence = checked(session).session;
    require(dropped, "the output pointer `dropped`");
    *dropped = sequence.slide(keep, room);
  });
}

gpt2_status gpt2_session_fork(const gpt2_session* session, gpt2_session** out) {
  return guard_new(out, [&] { return make_session(checked(session).session.fork()); });
}

gpt2_status gpt2_session_assign(gpt2_session* session, const gpt2_session* other, size_t position) {
  return guard([&] { checked(session).session.assign(checked(other).session, position); });
}

gpt2_status gpt2_session_save(const gpt2_session* session, const char* path) {
  return guard([&] { gpt2::save_session(checked(session).session, c_path(path, "the path")); });
}

gpt2_status gpt2_session_load(const gpt2_model* model, const char* path,
                              const gpt2_session_options* options, gpt2_session** out) {
  return guard_new(out, [&] {
    const gpt2_session_options given = options_of(options);
    return make_session(gpt2::load_session(engine_for(model, given.engine),
                                           c_path(path, "the path"),
                                           {.max_tokens = given.max_tokens}));
  });
}

const gpt2_session_info* gpt2_session_get_info(gpt2_session* session) {
  return guard_pointer([&]() -> const gpt2_session_info* {
    const gpt2::Session& sequence = checked(session).session;
    session->info = {.tokens = sequence.tokens().data(),
                     .position = sequence.position(),
                     .waiting = sequence.waiting(),
                     .capacity = sequence.capacity(),
                     .dropped = sequence.dropped()};
    return &session->info;
  });
}

void gpt2_session_free(gpt2_session* session) { release(session); }
