// Sessions share the blocks of keys and values of common tokens. Whatever is done to one of them,
// each must go on, bit for bit, like a session that has computed all its tokens itself.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "gpt2/session.h"
#include "measure/random_model.h"
#include "model/session_impl.h"
#include "support/catch.h"
#include "support/passes.h"

using namespace gpt2;
using namespace gpt2::test;

namespace {

constexpr std::size_t kPositions = 1100;

Model small_model(std::size_t n_positions = kPositions) {
  return random_model(
      {.vocab_size = 53, .n_positions = n_positions, .n_embd = 18, .n_layer = 2, .n_head = 2}, {});
}

// Returns the logits after the last token in a session of its own.
std::vector<float> fresh_logits(const Model& model, std::span<const TokenId> tokens) {
  Session session = session_of(model, 1);
  const std::span<const float> logits = session.forward(tokens);
  return {logits.begin(), logits.end()};
}

// Appends the tokens in several passes. Returns whether the logits after each pass are those of a
// fresh session.
bool goes_on(Session& session, std::span<const TokenId> tokens) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1}, tokens.size() - 2}) {
    const std::span<const float> logits = session.forward(tokens.first(piece));
    if (!same_bits(logits, fresh_logits(session.model(), session.tokens()))) return false;
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

constexpr std::size_t kForkPositions[] = {0, 1, 255, 256, 257, 512, 1000};

}  // namespace

TEST_CASE("a session and its fork go on independently") {
  const Model model = small_model();
  const std::vector<TokenId> prompt = random_tokens(model, 1000, 1);
  const std::vector<TokenId> one = random_tokens(model, 70, 2);
  const std::vector<TokenId> two = random_tokens(model, 70, 3);
  for (const std::size_t position : kForkPositions) {
    INFO("fork at " << position);
    auto session = std::make_unique<Session>(session_of(model, 2));
    if (position > 0) session->forward(std::span(prompt).first(position));
    Session fork = session->fork();
    CHECK(common_blocks(*session, fork) == position / 256);
    CHECK(goes_on(*session, one));
    CHECK(goes_on(fork, two));

    Session third = fork.fork();
    session.reset();
    CHECK(goes_on(fork, std::span(one).first(20)));
    CHECK(goes_on(third, std::span(one).last(20)));
  }
}

TEST_CASE("a rewind into a shared block changes no other session") {
  const Model model = small_model();
  const std::vector<TokenId> prompt = random_tokens(model, 600, 1);
  const std::vector<TokenId> other = random_tokens(model, 300, 2);
  for (const std::size_t position : {0, 1, 31, 255, 256, 300, 511, 512, 599}) {
    for (const bool original : {false, true}) {
      INFO("rewind " << (original ? "the original" : "the fork") << " to " << position);
      Session session = session_of(model, 2);
      session.forward(prompt);
      Session fork = session.fork();
      Session& rewound = original ? session : fork;
      Session& left = original ? fork : session;
      rewound.rewind(position);
      CHECK(common_blocks(session, fork) == position / 256);
      CHECK(goes_on(rewound, other));
      CHECK(goes_on(left, std::span(other).first(40)));
      left.rewind(position);
      CHECK(goes_on(left, std::span(other).last(40)));
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
  for (std::size_t i = 0; i < kThreads; ++i) sessions.emplace_back(source.fork());
  bool is_right[kThreads] = {};
  {
    const auto use = [&](std::size_t i) {
      Session& session = *sessions[i];
      Session fork = session.fork();
      session.rewind(300 + i);  // writes to a block that the others read, unless it is the last
      is_right[i] = goes_on(fork, std::span(text).subspan(600, 20)) &&
                    goes_on(session, std::span(text).subspan(100 * i, 30));
      fork = session.fork();
      is_right[i] &= goes_on(fork, std::span(text).first(10));
      sessions[i].reset();
    };
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(use, i);
  }
  for (const bool right : is_right) CHECK(right);
  source.rewind(10);  // the other sessions are gone
  CHECK(goes_on(source, std::span(text).first(30)));
}
