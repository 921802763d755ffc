// Tests sessions that share the blocks of keys and values of their common tokens. Whatever happens
// to one of them, each must behave, bit for bit, as if it had computed all its tokens itself.
#include <thread>

#include "cli/bench/random_model.h"
#include "gpt2/session.h"
#include "model/engine_impl.h"
#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::shared_blocks_test {

namespace {

constexpr std::size_t kPositions = 1100;

Model small_model(std::size_t n_positions = kPositions) {
  return random_model(
      {.vocab_size = 53, .n_positions = n_positions, .n_embd = 18, .n_layer = 2, .n_head = 2}, {});
}

// Returns the logits after the last token in a session of its own, of the same kind as `like`.
std::vector<float> fresh_logits(const Session& like, std::span<const TokenId> tokens) {
  Session session = session_of(like.model(), 1, 0, like.engine().kv_type());
  const std::span<const float> logits = session.forward(tokens);
  return {logits.begin(), logits.end()};
}

// Appends the tokens in several passes. Returns whether the logits after each pass are those of a
// fresh session.
bool goes_on(Session& session, std::span<const TokenId> tokens) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1}, tokens.size() - 2}) {
    const std::span<const float> logits = session.forward(tokens.first(piece));
    if (!same_bits(logits, fresh_logits(session, session.tokens()))) return false;
    tokens = tokens.subspan(piece);
  }
  return true;
}

std::size_t common_blocks(const Session& a, const Session& b) {
  const KVCache& first = a.impl()->cache;
  const KVCache& second = b.impl()->cache;
  const std::size_t blocks = ceil_div(std::min(first.capacity(), second.capacity()), kChunk);
  const auto end = first.blocks() + blocks;
  return static_cast<std::size_t>(std::mismatch(first.blocks(), end, second.blocks()).first -
                                  first.blocks());
}

}  // namespace

TEST_CASE("a fork and an assigned session share the whole blocks") {
  const Model model = small_model();
  const std::vector<TokenId> text = random_tokens(model, 400, 1);
  Session source = session_of(model, 1), target = session_of(model, 2, 350);
  source.forward(std::span(text).first(300));
  target.assign(source);
  CHECK(target.capacity() == 350);
  CHECK(common_blocks(source, target) == 1);
  CHECK(common_blocks(source, source.fork()) == 1);
  CHECK(goes_on(target, std::span(text).last(40)));
  CHECK(goes_on(source, std::span(text).last(30)));
}

TEST_CASE("assign refuses what it cannot do and changes nothing") {
  const Model model = small_model();
  const std::vector<TokenId> text = random_tokens(model, 40, 1);
  Session session = session_of(model, 1, 30);
  session.forward(std::span(text).first(7));
  Session longer = session_of(model, 1);
  longer.forward(std::span(text).first(30));
  longer.append(std::span(text).first(1));
  const auto refused = [&](const Session& source, std::initializer_list<std::string_view> facts) {
    check_bad_argument([&] { session.assign(source); }, facts);
  };
  refused(longer, {"31 tokens", "30"});
  refused(Session(small_model()), {"another model"});
  refused(session_of(model, 1, 0, KVType::f16), {"f16", "f32"});
  CHECK(std::ranges::equal(session.tokens(), std::span(text).first(7)));
  CHECK(goes_on(session, std::span(text).last(20)));
}

namespace {

// A random program that changes some sessions, and keeps the tokens that each should have.
class Program {
 public:
  Program(const Model& model, unsigned seed) : random_(seed) {
    const Engine engine(model, {.threads = 2, .kv_type = seed % 2 ? KVType::f16 : KVType::f32});
    for (const std::size_t capacity : {1100, 1100, 1100, 800, 530, 200}) {
      sessions_.emplace_back(engine, SessionOptions{.max_tokens = capacity});
    }
    tokens_.resize(sessions_.size());
    text_ = random_tokens(model, kPositions, seed);
  }

  // Runs a random operation. Returns what it was, for messages.
  std::string step() {
    const std::size_t i = below(sessions_.size());
    const std::size_t other = below(sessions_.size());
    switch (below(8)) {
      case 0: return fork(i, other);
      case 1:
      case 2: return assign(i, other);
      case 3: return rewind(i);
      case 4: return append(i);
      default: return forward(i);
    }
  }

  // Returns whether all sessions have the expected tokens, and whether one more token leads to the
  // same logits as in new sessions.
  bool is_right() {
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      if (!std::ranges::equal(sessions_[i].tokens(), tokens_[i])) return false;
      if (tokens_[i].size() == sessions_[i].capacity()) rewind(i);
      const TokenId next[] = {static_cast<TokenId>(below(50))};
      tokens_[i].push_back(next[0]);
      const std::span<const float> logits = sessions_[i].forward(next);
      if (!same_bits(logits, fresh_logits(sessions_[i], tokens_[i]))) return false;
    }
    return true;
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }

  std::string fork(std::size_t i, std::size_t other) {
    sessions_[i] = sessions_[other].fork();
    tokens_[i] = tokens_[other];
    return std::to_string(i) + " = fork of " + std::to_string(other);
  }

  std::string assign(std::size_t i, std::size_t other) {
    const std::string what = std::to_string(i) + ".assign(" + std::to_string(other);
    const std::size_t all = tokens_[other].size();
    const std::size_t position = below(2) == 0 ? all : below(all + 1);
    if (position > sessions_[i].capacity()) return what + ") left out";
    if (position == all) {
      sessions_[i].assign(sessions_[other]);
    } else {
      sessions_[i].assign(sessions_[other], position);
    }
    if (i != other) tokens_[i] = tokens_[other];
    tokens_[i].resize(position);
    return what + ", " + std::to_string(position) + ")";
  }

  std::string rewind(std::size_t i) {
    if (tokens_[i].empty()) return "nothing";
    const std::size_t most = below(2) == 0 ? 5 : tokens_[i].size();
    const std::size_t position = tokens_[i].size() - 1 - below(std::min(most, tokens_[i].size()));
    sessions_[i].rewind(position);
    tokens_[i].resize(position);
    return std::to_string(i) + ".rewind(" + std::to_string(position) + ")";
  }

  // Returns tokens to append to session i. Most of them come from one text, so that even sessions
  // that were not copied from one another have equal tokens.
  std::vector<TokenId> more(std::size_t i) {
    const std::size_t begin = tokens_[i].size();
    const std::size_t room = sessions_[i].capacity() - begin;
    const std::size_t count = std::min(room, below(3) == 0 ? below(400) : below(4));
    const auto at = text_.begin() + static_cast<long>(begin);
    std::vector<TokenId> added(at, at + static_cast<long>(count));
    if (below(3) == 0) {
      for (TokenId& token : added) token = static_cast<TokenId>(below(50));
    }
    tokens_[i].insert(tokens_[i].end(), added.begin(), added.end());
    return added;
  }

  std::string append(std::size_t i) {
    const std::vector<TokenId> added = more(i);
    sessions_[i].append(added);
    return std::to_string(i) + ".append(" + std::to_string(added.size()) + ")";
  }

  std::string forward(std::size_t i) {
    const std::vector<TokenId> added = more(i);
    if (!added.empty() || sessions_[i].waiting() > 0) sessions_[i].forward(added);
    return std::to_string(i) + ".forward(" + std::to_string(added.size()) + ")";
  }

  std::mt19937 random_;
  std::vector<Session> sessions_;
  std::vector<std::vector<TokenId>> tokens_;
  std::vector<TokenId> text_;
};

}  // namespace

TEST_CASE("sessions behave like fresh ones after any fork, assign, rewind, append and forward",
          "[sequential]") {
  const Model model = small_model();
  // Under sanitizers and emulators, fewer programs are enough.
  const unsigned programs = is_slow() ? 4 : 40;
  for (unsigned seed = 0; seed < programs; ++seed) {
    Program program(model, seed);
    std::string steps = "seed " + std::to_string(seed) + ":";
    for (int i = 0; i < 60; ++i) {
      steps += "\n" + program.step();
      if (i % 10 != 9) continue;
      INFO(steps);
      REQUIRE(program.is_right());
    }
  }
}

TEST_CASE("threads use sessions that share blocks at the same time") {
  const Model model = small_model();
  const std::vector<TokenId> text = random_tokens(model, 700, 1);
  Session source = session_of(model, 1);
  source.forward(std::span(text).first(600));
  constexpr std::size_t kThreads = 3;
  std::vector<std::optional<Session>> sessions;
  for (std::size_t i = 0; i < kThreads; ++i) {
    sessions.emplace_back(session_of(model, 1));  // on an engine of its own
    sessions.back()->assign(source);
  }
  bool is_right[kThreads] = {};
  {
    const auto use = [&](std::size_t i) {
      Session& session = *sessions[i];
      Session fork = session.fork();
      session.rewind(300 + i);  // writes to a block that the others read, unless it is the last
      is_right[i] = goes_on(fork, std::span(text).subspan(600, 20)) &&
                    goes_on(session, std::span(text).subspan(100 * i, 30));
      fork.assign(session);
      is_right[i] &= goes_on(fork, std::span(text).first(10));
      sessions[i].reset();
    };
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(use, i);
  }
  for (const bool right : is_right) CHECK(right);
  source.rewind(10);  // the other sessions have been destroyed
  CHECK(goes_on(source, std::span(text).first(30)));
}

// ThreadSanitizer reports a data race here if is_shared() does not order the two threads.
TEST_CASE("a block can be written once no other thread uses it") {
  KVBlock block(16);
  block.data()[7] = std::byte{1};
  std::optional<KVBlock> copy(block);
  CHECK(block.is_shared());
  std::byte read{};
  std::jthread other([&] {
    read = copy->data()[7];
    copy.reset();
  });
  while (block.is_shared()) std::this_thread::yield();
  block.data()[7] = std::byte{2};
  other.join();
  CHECK(read == std::byte{1});
  CHECK(block.data()[7] == std::byte{2});
}

}  // namespace gpt2::test::shared_blocks_test
