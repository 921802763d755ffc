// Tests random ragged passes. Sequences of any capacity, position, order and number of tokens share
// a pass, and each must get the same logits, bit for bit, as it gets alone. Under ASan and TSan,
// this also finds passes that write past the end of a buffer or before the other threads have
// finished with it.
#include "cli/bench/random_model.h"
#include "gpt2/session.h"
#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::ragged_test {

namespace {

// Sequences of this length span several of the chunks of keys that threads share.
constexpr std::size_t kPositions = 1400;

// Under sanitizers and emulators, computing each text alone takes most of the time.
std::size_t most_sequences() { return is_slow() ? 2 : 6; }

Model model_of(std::size_t n_head, WeightType dtype) {
  return random_model({.vocab_size = 61,
                       .n_positions = kPositions,
                       .n_embd = 12 * n_head,
                       .n_layer = 2,
                       .n_head = n_head},
                      {.dtype = dtype});
}

// A model and some texts, with the logits after every token of each text, computed alone on one
// thread.
struct Subject {
  Subject(const Model& m, KVType type) : model(m), kv_type(type) {
    for (unsigned i = 0; i < most_sequences(); ++i) {
      texts.push_back(random_tokens(model, kPositions, i));
      Session alone = session_of(model, 1, 0, kv_type);
      expected.push_back(all_logits(alone, texts.back()));
    }
  }

  Model model;
  KVType kv_type;
  std::vector<std::vector<TokenId>> texts;
  std::vector<std::vector<float>> expected;
};

// Returns a number from 1 to `most`. Small numbers are as likely as large ones.
std::size_t of_any_size(Dice& dice, std::size_t most) {
  std::size_t limit = 1;
  while (limit < most && !dice.one_in(6)) limit *= 2;
  return 1 + dice.up_to(std::min(limit, most) - 1);
}

// Some sequences, in the state to which the passes so far have brought them.
class Trial {
 public:
  Trial(const Subject& subject, unsigned seed) : subject_(subject), dice_(seed) {
    constexpr int kThreads[] = {1, 2, 3, 5, 8};
    threads_ = kThreads[dice_.up_to(std::size(kThreads) - 1)];
    std::vector<std::size_t> capacities(1 + dice_.up_to(most_sequences() - 1));
    for (std::size_t& capacity : capacities) {
      capacity = dice_.one_in(3) ? 1 + dice_.up_to(16) : 1024 + dice_.up_to(kPositions - 1024);
    }
    sessions_ = sessions_of(subject.model, threads_, capacities, subject.kv_type);
    for (std::size_t i = 0; i < sessions_.size(); ++i) begin(i);
  }

  // Runs a pass over some of the sequences in random order. Returns how many logits were compared.
  std::size_t pass() {
    std::vector<std::size_t> members;
    const bool one_token_each = dice_.one_in(2);
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      Session& session = sessions_[i];
      if (dice_.one_in(8)) session = session.fork();
      const std::size_t position = session.position();
      const bool rewinds = position == session.capacity() || dice_.one_in(8);
      if (rewinds && position > 0) session.rewind(dice_.up_to(position - 1));
      if (!dice_.one_in(4)) members.push_back(i);
    }
    for (std::size_t i = members.size(); i > 1; --i) {
      std::swap(members[i - 1], members[dice_.up_to(i - 1)]);
    }
    std::vector<Piece> pieces;
    for (const std::size_t i : members) pieces.push_back(draw_piece(i, one_token_each));
    return compare(pieces);
  }

 private:
  // Tokens [begin, end) of text `sequence`. The logits of the last of them are wanted.
  struct Piece {
    std::size_t sequence, begin, end;
    std::vector<float> logits;
  };

  // Brings a sequence to a position of its own. It runs alone, so that the positions differ already
  // in the first mixed pass.
  void begin(std::size_t i) {
    const std::size_t room = sessions_[i].capacity();
    const std::size_t most = room - dice_.up_to(room / 8);
    const std::size_t tokens = dice_.one_in(4) ? of_any_size(dice_, room) : most;
    sessions_[i].forward(std::span(subject_.texts[i]).first(tokens));
  }

  Piece draw_piece(std::size_t i, bool one_token) {
    const std::size_t begin = sessions_[i].position();
    const std::size_t room = sessions_[i].capacity() - begin;
    const std::size_t tokens = one_token ? 1 : of_any_size(dice_, room);
    const std::size_t wanted = dice_.one_in(3) ? dice_.up_to(tokens) : 1;
    const std::size_t vocab_size = subject_.model.config().vocab_size;
    return {i, begin, begin + tokens, std::vector<float>(wanted * vocab_size)};
  }

  std::size_t compare(std::vector<Piece>& pieces) {
    std::vector<Slice> slices;
    std::string description = std::to_string(threads_) + " threads:";
    for (Piece& piece : pieces) {
      const std::span<const TokenId> text(subject_.texts[piece.sequence]);
      slices.push_back({&sessions_[piece.sequence],
                        text.subspan(piece.begin, piece.end - piece.begin), piece.logits});
      description += " [" + std::to_string(piece.begin) + ", " + std::to_string(piece.end) +
                     ") of " + std::to_string(sessions_[piece.sequence].capacity());
    }
    INFO(description);
    forward(slices);
    std::size_t compared = 0;
    for (const Piece& piece : pieces) {
      const std::size_t end = piece.end * subject_.model.config().vocab_size;
      const std::span<const float> expected(subject_.expected[piece.sequence]);
      INFO("sequence " << piece.sequence << " from " << piece.begin << " to " << piece.end);
      REQUIRE(same_bits(piece.logits,
                        expected.subspan(end - piece.logits.size(), piece.logits.size())));
      compared += piece.logits.size();
    }
    return compared;
  }

  const Subject& subject_;
  Dice dice_;
  int threads_;
  std::vector<Session> sessions_;
};

void check_trials(std::size_t n_head, WeightType dtype, KVType kv_type) {
  const Subject subject(model_of(n_head, dtype), kv_type);
  // Under sanitizers and emulators, fewer trials are enough.
  const unsigned trials = is_slow() ? 3 : 30;
  std::size_t compared = 0;
  for (unsigned seed = 0; seed < trials; ++seed) {
    INFO(n_head << " heads, seed " << seed);
    Trial trial(subject, seed);
    for (int pass = 0; pass < 12; ++pass) compared += trial.pass();
  }
  CHECK(compared > trials * subject.model.config().vocab_size);
}

}  // namespace

TEST_CASE("each sequence of a ragged pass gets the logits that it gets alone") {
  SECTION("one head, fewer than threads") { check_trials(1, WeightType::f32, KVType::f32); }
  SECTION("three heads") { check_trials(3, WeightType::f32, KVType::f16); }
  SECTION("int8 weights") { check_trials(2, WeightType::int8, KVType::f16); }
  SECTION("int4 weights") { check_trials(2, WeightType::int4, KVType::f32); }
}

}  // namespace gpt2::test::ragged_test
