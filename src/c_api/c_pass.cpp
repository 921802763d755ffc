#include <functional>
#include <vector>

#include "c_api/arguments.h"
#include "c_api/handles.h"
#include "c_api/options.h"
#include "gpt2/embed.h"
#include "gpt2/observed_names.h"

using namespace gpt2::c_api;

namespace gpt2::c_api {
namespace {

static_assert(static_cast<int>(Observed::mlp_activations) == GPT2_OBSERVED_MLP_ACTIVATIONS);
static_assert(static_cast<int>(Observed::attention_weights) == GPT2_OBSERVED_ATTENTION_WEIGHTS);
static_assert(static_cast<int>(Observed::ln_f_output) == GPT2_OBSERVED_LN_F_OUTPUT);

// Converts the slices to C++. `row_size` is the member of the model's Config that is the number of
// floats in a row of the results.
template <class CppSlice>
std::vector<CppSlice> slices_of(const gpt2_slice* slices, std::size_t n_slices,
                                std::size_t Config::*row_size) {
  std::vector<CppSlice> result;
  for (const gpt2_slice& slice : span_of(slices, n_slices, "the list of slices")) {
    Session& session = checked(slice.session).session;
    const std::size_t row = session.model().config().*row_size;
    require_array(slice.out, slice.n_out, row * sizeof(float), "the output of a slice");
    result.push_back({&session, span_of(slice.tokens, slice.n_tokens, "the list of tokens"),
                      std::span(slice.out, slice.n_out * row)});
  }
  return result;
}

// Returns a function that calls a callback with C's struct for the values, or an empty function if
// there is no callback. T is const float for a gpt2_observation.
template <class T, class CValues>
std::function<void(const BasicObservation<T>&)> caller_of(int (*callback)(void*, const CValues*),
                                                          void* user) {
  if (!callback) return {};
  return [=](const BasicObservation<T>& values) {
    const CValues converted = {.what = static_cast<gpt2_observed>(values.what),
                               .layer = values.layer,
                               .head = values.head,
                               .slice = values.slice,
                               .first = values.first,
                               .rows = values.rows,
                               .cols = values.cols,
                               .stride = values.stride,
                               .data = values.data};
    if (!callback(user, &converted)) throw Cancelled();
  };
}

std::function<bool(Observed, std::size_t)> filter_of(gpt2_wants wants, void* user) {
  if (!wants) return {};
  return [=](Observed what, std::size_t layer) {
    return wants(user, static_cast<gpt2_observed>(what), layer) != 0;
  };
}

Observer observer_of(const gpt2_observer& given) {
  if (!given.see && !given.change) reject("an observer needs a function `see` or `change`");
  return {.see = caller_of<const float>(given.see, given.user),
          .wants = filter_of(given.wants, given.user),
          .change = caller_of<float>(given.change, given.user),
          .changes = filter_of(given.changes, given.user)};
}

}  // namespace

}  // namespace gpt2::c_api

gpt2_status gpt2_forward(const gpt2_slice* slices, size_t n_slices) {
  return guard(
      [&] { gpt2::forward(slices_of<gpt2::Slice>(slices, n_slices, &gpt2::Config::vocab_size)); });
}

gpt2_status gpt2_hidden_states(const gpt2_slice* slices, size_t n_slices, size_t layer) {
  return guard([&] {
    gpt2::hidden_states(slices_of<gpt2::HiddenSlice>(slices, n_slices, &gpt2::Config::n_embd),
                        layer);
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

// The names are string literals, so they end with a zero.
const char* gpt2_observed_name(gpt2_observed what) {
  const auto names = gpt2::observed_names();
  const auto index = static_cast<std::size_t>(what);
  return index < names.size() ? names[index].name.data() : "unknown";
}

const char* gpt2_observed_hook(gpt2_observed what) {
  const auto names = gpt2::observed_names();
  const auto index = static_cast<std::size_t>(what);
  return index < names.size() ? names[index].transformer_lens.data() : "unknown";
}

gpt2_status gpt2_observe(const gpt2_slice* slices, size_t n_slices, const gpt2_observer* observer) {
  return guard([&] {
    require(observer, "the observer");
    const gpt2::Observer watching = observer_of(options_of(observer));
    gpt2::forward(slices_of<gpt2::Slice>(slices, n_slices, &gpt2::Config::vocab_size), watching);
  });
}
