#include <algorithm>
#include <functional>
#include <vector>

#include "base/paths.h"
#include "c_api/guard.h"
#include "gpt2/embed.h"
#include "gpt2/observer.h"
#include "gpt2/option_fields.h"
#include "gpt2/score.h"
#include "gpt2/session.h"

using namespace gpt2::c_api;

namespace gpt2::c_api {

Engine engine_for(const gpt2_model* model, const gpt2_engine* engine) {
  const Model& weights = checked(model).model;
  if (engine == nullptr) return Engine::shared(weights);
  const Engine& given = checked(engine).engine;
  if (given.model().transformer() != weights.transformer()) {
    reject("the engine is of another model: give one that was made for this model");
  }
  return given;
}

SessionUse free_session(const gpt2_session* session) {
  const std::shared_ptr<SharedSession>& shared = checked(session).shared;
  if (shared->has_run) {
    reject("the session has a run that has not finished: finish it, or free it");
  }
  if (shared->is_used.exchange(true)) {
    reject("the session is used twice: by two slices, two threads, or a callback and its caller");
  }
  return {&shared->session, {shared}};
}

namespace {

static_assert(static_cast<int>(Observed::mlp_preactivations) == GPT2_OBSERVED_MLP_PREACTIVATIONS);
static_assert(static_cast<int>(Observed::attention_weights) == GPT2_OBSERVED_ATTENTION_WEIGHTS);
static_assert(static_cast<int>(Observed::ln_f_output) == GPT2_OBSERVED_LN_F_OUTPUT);

std::unique_ptr<gpt2_session> make_session(Session session) {
  return make_handle<gpt2_session>(std::make_shared<SharedSession>(std::move(session)));
}

SessionOptions session_options_of(const char* text) {
  JsonArgument options(text, "the options");
  const auto max_tokens = options.members().count("max_tokens", 0, kMaxOptionTokens);
  options.members().refuse_others();
  return {.max_tokens = max_tokens.value_or(0)};
}

std::span<const TokenId> tokens_of(const gpt2_token* tokens, std::size_t n_tokens) {
  return span_of(tokens, n_tokens, "the list of tokens");
}

// Converts the slices to C++, and uses their sessions. `row_size` is the member of the model's
// Config that is the number of floats in a row of the results.
template <class CppSlice>
std::vector<CppSlice> slices_of(const gpt2_slice* slices, std::size_t n_slices,
                                std::size_t Config::*row_size, std::vector<SessionUse>& uses) {
  std::vector<CppSlice> result;
  for (const gpt2_slice& slice : span_of(slices, n_slices, "the list of slices")) {
    Session& session = *uses.emplace_back(free_session(slice.session));
    const std::size_t row = session.model().config().*row_size;
    require_array(slice.out, slice.n_out, row * sizeof(float), "the output of a slice");
    result.push_back({&session, tokens_of(slice.tokens, slice.n_tokens),
                      std::span(slice.out, slice.n_out * row)});
  }
  return result;
}

// Returns a layer that may count from the end. One that does not exist is left to its user.
std::size_t layer_of(std::int64_t layer, const Config& config) {
  const auto n_layer = static_cast<std::int64_t>(config.n_layer);
  if (layer < 0) layer += n_layer + 1;
  if (layer < 0 || layer > n_layer) {
    reject("the layer: expected ", -n_layer - 1, " to ", n_layer, ", found ",
           layer < 0 ? layer - n_layer - 1 : layer);
  }
  return static_cast<std::size_t>(layer);
}

// Returns a function that calls a callback with C's struct for the values, or an empty function if
// there is no callback.
template <class T>
std::function<void(const BasicObservation<T>&)> caller_of(gpt2_on_observation callback,
                                                          void* user) {
  if (!callback) return {};
  return [=](const BasicObservation<T>& values) {
    const gpt2_observation converted = {.what = static_cast<gpt2_observed>(values.what),
                                        .layer = values.layer,
                                        .head = values.head,
                                        .slice = values.slice,
                                        .first = values.first,
                                        .rows = values.rows,
                                        .cols = values.cols,
                                        .stride = values.stride,
                                        .data = const_cast<float*>(values.data)};
    if (!callback(user, &converted)) throw Cancelled();
  };
}

std::function<bool(Observed, std::size_t)> filter_of(gpt2_wants wants, void* user) {
  if (!wants) return {};
  return [=](Observed what, std::size_t layer) {
    return wants(user, static_cast<gpt2_observed>(what), layer) != 0;
  };
}

Observer observer_of(const gpt2_observer* observer) {
  const gpt2_observer given = struct_of(observer, "the observer");
  if (!given.see && !given.change) reject("an observer needs a function `see` or `change`");
  return {.see = caller_of<const float>(given.see, given.user),
          .wants = filter_of(given.wants, given.user),
          .change = caller_of<float>(given.change, given.user),
          .changes = filter_of(given.changes, given.user)};
}

EmbedOptions embed_options_of(const char* text, const Config& config) {
  JsonArgument options(text, "the options");
  Members& members = options.members();
  EmbedOptions embed = {.pooling = static_cast<Pooling>(members.word("pooling", {"mean", "last"}))};
  if (const nlohmann::json* const layer = members.find("layer")) {
    const auto number = whole_number<std::int64_t>(*layer);
    if (!number || std::cmp_greater(*number, config.n_layer)) {
      members.refuse("layer", concat("a whole number up to ", config.n_layer));
    }
    embed.layer = layer_of(*number, config);
  }
  members.refuse_others();
  return embed;
}

Json comparison_json(const PerplexityComparison& found) {
  return {{"tokens", found.tokens},
          {"windows", found.windows},
          {"perplexity_a", found.perplexity[0]},
          {"perplexity_b", found.perplexity[1]},
          {"change", found.change},
          {"standard_error", found.standard_error}};
}

}  // namespace

}  // namespace gpt2::c_api

gpt2_status gpt2_engine_new(const gpt2_model* model, const char* options, gpt2_engine** out) {
  return guard_new(out, [&] {
    const gpt2::Model& weights = checked(model).model;
    JsonArgument given(options, "the options");
    gpt2::EngineOptions engine;
    const auto threads = given.members().count("threads", 0, gpt2::EngineOptions::kMaxThreads);
    engine.threads = static_cast<int>(threads.value_or(0));
    engine.kv_type =
        static_cast<gpt2::KVType>(given.members().word("kv_type", {"auto", "f32", "f16"}));
    given.members().refuse_others();
    return make_handle<gpt2_engine>(gpt2::Engine(weights, engine));
  });
}

void gpt2_engine_free(gpt2_engine* engine) { release(engine); }

gpt2_status gpt2_session_new(const gpt2_model* model, const gpt2_engine* engine,
                             const char* options, gpt2_session** out) {
  return guard_new(out, [&] {
    return make_session(gpt2::Session(engine_for(model, engine), session_options_of(options)));
  });
}

gpt2_status gpt2_session_forward(gpt2_session* session, const gpt2_token* tokens, size_t n_tokens,
                                 const float** logits) {
  return guard([&] {
    const SessionUse sequence = free_session(session);
    require(logits, "the output pointer `logits`");
    *logits = sequence->forward(tokens_of(tokens, n_tokens)).data();
  });
}

gpt2_status gpt2_session_append(gpt2_session* session, const gpt2_token* tokens, size_t n_tokens) {
  return guard([&] { free_session(session)->append(tokens_of(tokens, n_tokens)); });
}

gpt2_status gpt2_session_rewind(gpt2_session* session, size_t position) {
  return guard([&] { free_session(session)->rewind(position); });
}

gpt2_status gpt2_session_slide(gpt2_session* session, size_t keep, size_t room, size_t* dropped) {
  return guard([&] {
    const SessionUse sequence = free_session(session);
    require(dropped, "the output pointer `dropped`");
    *dropped = sequence->slide(keep, room);
  });
}

gpt2_status gpt2_session_fork(const gpt2_session* session, gpt2_session** out) {
  return guard_new(out, [&] { return make_session(free_session(session)->fork()); });
}

gpt2_status gpt2_session_save(const gpt2_session* session, const char* path) {
  return guard([&] {
    gpt2::save_session(*free_session(session), gpt2::path_of(c_string(path, "the path")));
  });
}

gpt2_status gpt2_session_load(const gpt2_model* model, const gpt2_engine* engine, const char* path,
                              const char* options, gpt2_session** out) {
  return guard_new(out, [&] {
    return make_session(gpt2::load_session(engine_for(model, engine),
                                           gpt2::path_of(c_string(path, "the path")),
                                           session_options_of(options)));
  });
}

gpt2_status gpt2_session_tokens(const gpt2_session* session, const gpt2_token** ids,
                                size_t* n_ids) {
  return guard([&] {
    const gpt2::Session& sequence = checked(session).shared->session;
    require(ids, "the output for the array");
    require(n_ids, "the output for its length");
    *ids = sequence.tokens().data();
    *n_ids = sequence.position();
  });
}

gpt2_status gpt2_session_info(const gpt2_session* session, gpt2_bytes** json) {
  return guard_new(json, [&] {
    const gpt2::Session& sequence = checked(session).shared->session;
    const gpt2::Json info = {{"position", sequence.position()},
                             {"waiting", sequence.waiting()},
                             {"capacity", sequence.capacity()},
                             {"dropped", sequence.dropped()}};
    return make_bytes(info.text());
  });
}

void gpt2_session_free(gpt2_session* session) { release(session); }

gpt2_status gpt2_forward(const gpt2_slice* slices, size_t n_slices, const gpt2_observer* observer) {
  return guard([&] {
    std::vector<SessionUse> uses;
    const auto given = slices_of<gpt2::Slice>(slices, n_slices, &gpt2::Config::vocab_size, uses);
    if (observer == nullptr) return gpt2::forward(given);
    gpt2::forward(given, observer_of(observer));
  });
}

gpt2_status gpt2_hidden_states(const gpt2_slice* slices, size_t n_slices, int32_t layer) {
  return guard([&] {
    std::vector<SessionUse> uses;
    const auto given = slices_of<gpt2::HiddenSlice>(slices, n_slices, &gpt2::Config::n_embd, uses);
    if (given.empty()) return;
    gpt2::hidden_states(given, layer_of(layer, given[0].session->model().config()));
  });
}

gpt2_status gpt2_unembed(const gpt2_model* model, const gpt2_engine* engine, const float* states,
                         size_t n_states, int32_t apply_ln_f, float* logits) {
  return guard([&] {
    const gpt2::Engine own = engine_for(model, engine);
    const gpt2::Config& config = own.model().config();
    require_array(states, n_states, config.n_embd * sizeof(float), "the array of hidden states");
    require_array(logits, n_states, config.vocab_size * sizeof(float), "the output for the logits");
    gpt2::unembed(own, {states, n_states * config.n_embd}, {logits, n_states * config.vocab_size},
                  {.ln_f = apply_ln_f != 0});
  });
}

gpt2_status gpt2_embed(const gpt2_model* model, const gpt2_engine* engine, const gpt2_ids* texts,
                       size_t n_texts, const char* options, gpt2_on_progress on_progress,
                       void* user, float* vectors) {
  return guard([&] {
    const gpt2::Engine own = engine_for(model, engine);
    const gpt2::Config& config = own.model().config();
    require_array(vectors, n_texts, config.n_embd * sizeof(float), "the array of vectors");
    gpt2::EmbedOptions embed = embed_options_of(options, config);
    embed.progress = progress_of(on_progress, user);
    const auto made = gpt2::embed(own, lists_of(texts, n_texts, "the list of texts"), embed);
    for (const std::vector<float>& vector : made) {
      vectors = std::copy(vector.begin(), vector.end(), vectors);
    }
  });
}

gpt2_status gpt2_compare(const gpt2_model* model_a, const gpt2_engine* engine_a,
                         const gpt2_model* model_b, const gpt2_engine* engine_b,
                         const gpt2_token* ids, size_t n_ids, gpt2_on_progress on_progress,
                         void* user, gpt2_bytes** json) {
  return guard_new(json, [&] {
    const auto found = gpt2::compare_perplexity(
        engine_for(model_a, engine_a), engine_for(model_b, engine_b),
        span_of(ids, n_ids, "the list of ids"), progress_of(on_progress, user));
    return make_bytes(comparison_json(found).text());
  });
}
