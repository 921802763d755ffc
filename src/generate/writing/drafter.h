#pragma once

#include <cstddef>
#include <exception>
#include <future>
#include <optional>
#include <span>
#include <vector>

#include "gpt2/generate.h"

namespace gpt2 {

/// Drafts the next tokens of a text, which the text's model then checks in one pass. The tokens
/// come from the text so far (prompt lookup), or from another model of the same vocabulary, which
/// may become ready while the text is being written (a pending draft).
///
/// A copy, usually a quantized one, has all sizes of the text's model. It reads the keys and values
/// of the text's session, which are exact, and writes those of the drafted tokens after them, where
/// the pass that checks the draft overwrites them. So a copy needs no keys and values of its own
/// and never has to read the prompt.
///
/// A model of other sizes has its own session. Before each draft, this session is rewound to the
/// first token that differs from the text, and then reads the tokens that it lacks. It is stored in
/// the text's session, so that a later text that continues there need not be read from its
/// beginning.
///
/// A model draws with the sampler of the text. Because the noise depends on the position and not on
/// the logits, a model with nearly the same logits usually draws the same token.
///
/// The caller decides how many tokens to draft, and many texts may draft together:
///
///   drafter.look_up(max);                // tokens of the text so far
///   drafter.shorten(count);
///   Drafter::draft(drafters, count);     // or else tokens of the model, in passes that they share
///   ...                                  // the pass that checks drafter.tokens()
///   drafter.note_checked(accepted);
class Drafter {
 public:
  /// `text` and `sampler`, which draws its tokens, must outlive the drafter. Throws
  /// Error(invalid_argument) if the options of drafts are invalid or the model does not have the
  /// vocabulary of the text's model, and std::bad_alloc.
  Drafter(Session& text, Sampler& sampler, const GenerationOptions& options);

  /// Frees what drafts have left in the session of a text.
  static void forget(Session& text) noexcept;

  /// Returns the number of bytes that the session of a draft model takes when a text of `capacity`
  /// tokens is full; 0 for a copy. `text` is the config of the text's model.
  [[nodiscard]] static std::size_t memory_bytes(const Model& model, const Config& text,
                                                std::size_t capacity) noexcept;

  [[nodiscard]] bool may_draft() const noexcept {
    return model_ || pending_model_.valid() || looks_up_;
  }

  /// Call this function after a prompt has been read, which the draft model has to read as well.
  void note_prompt() noexcept { has_new_prompt_ = true; }

  /// Begins the draft for the next pass, which may have up to `max` tokens: looks for tokens in the
  /// text so far, if the options allow it. Throws Error if a pending draft has become ready and
  /// does not fit the model.
  void look_up(std::size_t max);

  /// Keeps the first `max` tokens, or all of them with constant_draft.
  void shorten(std::size_t max);

  /// Returns the max number of tokens that the model can draft for the next pass. Returns 0 if
  /// there is no model, if tokens were found in the text, or if the text is longer than the model's
  /// context.
  [[nodiscard]] std::size_t max_of_model() const;

  /// The passes of draft models, without those that read a new prompt.
  struct ModelPasses {
    std::size_t count = 0;
    double seconds = 0.0;
  };

  /// Lets the models of these texts draft up to `max` tokens for each text, or with constant_draft
  /// as many as they can, in passes that texts with the same model share. A model first reads a new
  /// prompt, of which it copies what the model of another text has read. Stops if there is not
  /// enough memory. A text's draft ends early if its sampler cannot choose a token, because the
  /// logits contain NaN or +infinity, or because a processor of the caller's throws; rethrow()
  /// throws exceptions that are no std::exception.
  ///
  /// REQUIRES: exactly one token waits in the session of each text.
  static ModelPasses draft(std::span<Drafter* const> drafters, std::size_t max);

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

  [[nodiscard]] std::span<const TokenId> tokens() const noexcept { return tokens_; }

  /// Forgets the tokens after the pass that checked them, of which `accepted` were accepted.
  void note_checked(std::size_t accepted) noexcept;

  struct Checked {
    bool by_model = false;  ///< whether the model drafted, possibly no token
    std::size_t tokens = 0;
    std::size_t accepted = 0;
  };
  [[nodiscard]] const Checked& latest() const noexcept { return latest_; }

 private:
  void set_model(const Model& model);
  void take_pending_model();
  static bool forward(std::span<Drafter* const> drafters, std::vector<Slice>& slices);
  void begin(std::size_t max, std::span<Drafter* const> others);
  void read_text(std::span<Drafter* const> others);
  Slice next();
  void take();
  void end();
  [[nodiscard]] bool goes_on() const noexcept { return tokens_.size() < max_; }
  [[nodiscard]] bool has_model_of(const Drafter& other) const noexcept;
  [[nodiscard]] bool is_copy() const noexcept { return session_ == &text_; }

  Session& text_;
  Sampler& sampler_;
  std::size_t max_tokens_;
  bool is_constant_;  // constant_draft
  bool looks_up_;     // prompt_lookup
  std::shared_future<Model> pending_model_;

  std::optional<Model> model_;
  Session* session_ = nullptr;   // the session whose keys and values the model uses
  bool has_new_prompt_ = false;  // whether there is a prompt that the model has not read
  std::vector<float> logits_;    // of the model: (vocab_size)

  std::vector<TokenId> tokens_;
  std::size_t max_of_pass_ = 0;  // the max number of tokens that the pass can check
  bool by_model_ = false;        // whether the model has begun to draft
  std::size_t max_ = 0;          // the max number of tokens that the model drafts
  bool has_logits_ = false;      // whether a pass has computed logits, or is about to
  std::size_t start_ = 0;        // the position of the text's last token
  TokenId last_ = 0;             // the text's last token
  std::exception_ptr error_;
  Checked latest_;
};

/// Finds the latest earlier occurrence of the last three tokens of `ids` and returns up to `max` of
/// the tokens after it; none if there is no earlier occurrence. The span is a part of `ids`.
///
/// This is prompt lookup decoding (https://github.com/apoorvumang/prompt-lookup-decoding).
///
/// Cost: at most three comparisons for each token of `ids`.
[[nodiscard]] std::span<const TokenId> look_up(std::span<const TokenId> ids, std::size_t max);

struct DraftedPass {
  std::size_t steps = 0;        ///< the number of passes of the draft model; 0 if there is none
  std::size_t drafted = 0;      ///< the number of drafted tokens of all texts
  std::size_t accepted = 0;     ///< the accepted tokens among them
  std::size_t refused = 0;      ///< texts whose draft ended with a refused token or had no token
  double draft_seconds = 0.0;   ///< the time of the passes of the draft model
  double check_seconds = 0.0;   ///< the time of the pass that checked the tokens
  std::size_t all_drafted = 0;  ///< all tokens that it checked, including other kinds of drafts
};

/// Decides how many tokens each text of a pass drafts before the pass checks them, from the times
/// measured so far and from the share of drafted tokens that were accepted. The decision affects
/// only the time, never the text.
///
/// With the probability p that the next drafted token is right, a text with k drafted tokens gets
/// 1 + p + ... + p^k tokens from a pass on average. A pass over n texts, m of which draft, takes
/// plain + k (draft + m row) seconds: the time of a plain pass, of k passes of the draft model, and
/// of m k more rows to check. next() returns the k with the most tokens of all texts per second.
///
/// Drafts that are always wrong cost at most 1 % of the time plus one plain pass, or the first
/// draft, whose cost is not known in advance, if that is more. To ensure this, the class keeps an
/// account of time: it adds what drafts have saved and 1 % of each plain pass, subtracts what
/// drafts have cost, and allows no draft that costs more than the balance plus one plain pass.
///
/// Drafts do not end early at tokens that the draft model is unsure of. Measured with an f32 model
/// of 88 million parameters and int4 drafts, ending them where the two best scores differed by less
/// than 0.2 changed the speed by -6 to +1 %, and by less than 0.5, by -9 to -20 %: a few more
/// drafted tokens cost less than another pass of the model.
class DraftLength {
 public:
  /// Sets the number of texts in the next pass. If it has changed, the times are measured again,
  /// because they depend on it.
  void set_texts(std::size_t texts) noexcept;

  /// Returns the number of tokens that each of `drafting` texts should draft, from 0 to `max`.
  [[nodiscard]] std::size_t next(std::size_t max, std::size_t drafting) const;

  void note_plain(double seconds);

  void note_drafts(const DraftedPass& pass);

 private:
  [[nodiscard]] double agreement() const;

  std::size_t texts_ = 1;

  // Means of the latest measurements, in seconds.
  double plain_ = 0.0;         // a pass without drafts; 0 before the first one
  double draft_ = 0.0;         // a pass of the draft model
  double row_ = 0.0;           // the time that each further row adds to a pass
  bool knows_drafts_ = false;  // whether draft_ and row_ have been measured

  // Counts of recent drafted tokens, in which older tokens weigh less: the accepted ones, and those
  // that were refused and so ended a draft.
  double accepted_ = 0.0;
  double refused_ = 0.0;

  double account_ = 0.0;    // the balance, in seconds
  std::size_t passes_ = 0;  // passes with drafts since the last pass without drafts
};

}  // namespace gpt2
