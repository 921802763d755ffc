#include "gpt2/embed.h"

#include <utility>

#include "base/fail.h"
#include "base/share.h"
#include "base/system/threads.h"
#include "generate/writing/prompt_reader.h"
#include "generate/writing/tokens.h"
#include "model/engine_impl.h"

namespace gpt2 {
namespace {

// Texts that share a pass.
class EmbedPass {
 public:
  EmbedPass(const Engine& engine, const EmbedOptions& options)
      : engine_(engine), options_(options), config_(engine.model().config()) {}

  [[nodiscard]] bool is_full() const { return tokens_ >= kEnoughRows; }

  void add(const std::vector<TokenId>& text) {
    sessions_.emplace_back(engine_, SessionOptions{.max_tokens = text.size()});
    texts_.push_back(&text);
    tokens_ += text.size();
  }

  // Appends the vectors of the texts and returns how many tokens they have.
  std::size_t run(std::vector<std::vector<float>>& vectors) {
    const bool is_last = options_.pooling == Pooling::last;
    std::vector<std::vector<float>> states;
    std::vector<HiddenSlice> slices;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const std::size_t rows = is_last ? 1 : texts_[i]->size();
      states.emplace_back(rows * config_.n_embd);
      slices.push_back({&sessions_[i], *texts_[i], states[i]});
    }
    hidden_states(slices, options_.layer.value_or(config_.n_layer));
    for (auto& of_text : states) {
      vectors.push_back(is_last ? std::move(of_text) : mean_row(of_text));
    }
    return tokens_;
  }

 private:
  // The mean of the rows of a matrix (n, n_embd).
  [[nodiscard]] std::vector<float> mean_row(const std::vector<float>& matrix) const {
    std::vector<double> sums(config_.n_embd);
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      sums[i % config_.n_embd] += static_cast<double>(matrix[i]);
    }
    const auto rows = static_cast<double>(matrix.size() / config_.n_embd);
    std::vector<float> mean;
    for (const double sum : sums) mean.push_back(static_cast<float>(sum / rows));
    return mean;
  }

  const Engine& engine_;
  const EmbedOptions& options_;
  const Config& config_;
  std::vector<Session> sessions_;
  std::vector<const std::vector<TokenId>*> texts_;
  std::size_t tokens_ = 0;
};

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
  for (std::size_t next = 0; next < texts.size();) {
    EmbedPass pass(engine, options);
    while (next < texts.size() && !pass.is_full()) pass.add(texts[next++]);
    read += pass.run(vectors);
    if (options.progress) options.progress(share_of(read, total));
  }
  return vectors;
}

}  // namespace gpt2
