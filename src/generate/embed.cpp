#include "gpt2/embed.h"

#include <list>
#include <utility>

#include "base/fail.h"
#include "base/share.h"
#include "base/system/threads.h"
#include "generate/writing/prompt_reader.h"
#include "generate/writing/tokens.h"
#include "model/engine_impl.h"

namespace gpt2 {
namespace {

// Returns the mean of the rows of a matrix with so many columns.
std::vector<float> mean_row(const std::vector<float>& matrix, std::size_t cols) {
  std::vector<double> sums(cols);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    sums[i % cols] += static_cast<double>(matrix[i]);
  }
  const auto rows = static_cast<double>(matrix.size() / cols);
  std::vector<float> mean;
  for (const double sum : sums) mean.push_back(static_cast<float>(sum / rows));
  return mean;
}

// Computes the first texts, as many as fill a pass, together. Appends their vectors, and returns
// how many tokens they have.
std::size_t run_pass(const Engine& engine, std::span<const std::vector<TokenId>> texts,
                     const EmbedOptions& options, std::vector<std::vector<float>>& vectors) {
  const Config& config = engine.model().config();
  const bool is_last = options.pooling == Pooling::last;
  std::list<Session> sessions;
  std::vector<std::vector<float>> states;
  std::vector<HiddenSlice> slices;
  std::size_t tokens = 0;
  for (auto text = texts.begin(); text != texts.end() && tokens < kEnoughRows; ++text) {
    Session& session = sessions.emplace_back(engine, SessionOptions{.max_tokens = text->size()});
    auto& of_text = states.emplace_back((is_last ? 1 : text->size()) * config.n_embd);
    slices.push_back({&session, *text, of_text});
    tokens += text->size();
  }
  hidden_states(slices, options.layer.value_or(config.n_layer));
  for (auto& of_text : states) {
    vectors.push_back(is_last ? std::move(of_text) : mean_row(of_text, config.n_embd));
  }
  return tokens;
}

}  // namespace

std::vector<std::vector<float>> embed(const Engine& engine,
                                      std::span<const std::vector<TokenId>> texts,
                                      const EmbedOptions& options) {
  const DefaultFloatState state;
  const Config& config = engine.model().config();
  if (options.layer) check_layer(*options.layer, config);
  check_enumerator(options.pooling, Pooling::last, "pooling", "Pooling");
  std::size_t total = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string where = concat("text ", i + 1);
    if (texts[i].empty()) reject(where, " has no tokens: give at least one");
    if (texts[i].size() > config.n_positions) {
      reject(where, " has ", texts[i].size(), " tokens, but the model takes at most ",
             config.n_positions, ": shorten or divide it");
    }
    check_tokens(texts[i], config.vocab_size, where);
    total += texts[i].size();
  }
  std::vector<std::vector<float>> vectors;
  std::size_t read = 0;
  while (vectors.size() < texts.size()) {
    read += run_pass(engine, texts.subspan(vectors.size()), options, vectors);
    if (options.progress) options.progress(share_of(read, total));
  }
  return vectors;
}

}  // namespace gpt2
