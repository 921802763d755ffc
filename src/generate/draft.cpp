#include "generate/draft.h"

#include "base/fail.h"
#include "model/engine_impl.h"

namespace gpt2 {
namespace {

void require_sizes(const Config& copy, const Config& model) {
  const auto check = [](const char* name, std::size_t found, std::size_t expected) {
    if (found == expected) return;
    reject("the draft must have the sizes of the model: ", name, " is ", found, ", expected ",
           expected);
  };
  check("vocab_size", copy.vocab_size, model.vocab_size);
  check("n_positions", copy.n_positions, model.n_positions);
  check("n_embd", copy.n_embd, model.n_embd);
  check("n_layer", copy.n_layer, model.n_layer);
  check("n_head", copy.n_head, model.n_head);
  check("n_inner", copy.inner_dim(), model.inner_dim());
}

// Restores a session in which one token waits: its destructor removes the tokens that were appended
// in the meantime, and makes that token wait again. A destructor does it because anything may be
// thrown in between.
class TakeBack {
 public:
  explicit TakeBack(Session& session)
      : session_(session), start_(session.position() - 1), waiting_(session.tokens().back()) {}
  TakeBack(const TakeBack&) = delete;
  TakeBack& operator=(const TakeBack&) = delete;
  ~TakeBack() {
    session_.rewind(start_);
    session_.append(std::span(&waiting_, 1));
  }

 private:
  Session& session_;
  std::size_t start_;
  TokenId waiting_;
};

}  // namespace

Draft::Draft(const Model& copy, const Session& session)
    : copy_(copy), logits_(session.model().config().vocab_size) {
  require_sizes(copy.config(), session.model().config());
}

std::span<const TokenId> Draft::propose(Session& session, Sampler& sampler, std::size_t max) {
  tokens_.clear();
  const TakeBack drafted(session);
  try {
    while (tokens_.size() < max) {
      const Slice slice{&session, {}, logits_};  // reads the token that waits
      session.engine().impl().forward(std::span(&slice, 1), copy_);
      tokens_.push_back(sampler.sample(logits_, session.tokens()));
      session.append(std::span(tokens_).last(1));
    }
  } catch (const std::exception&) {
    // The draft ends here. If the text itself leads to the exception, drawing its next token throws
    // it again.
  }
  return tokens_;
}

}  // namespace gpt2
