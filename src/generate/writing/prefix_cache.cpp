#include "generate/writing/prefix_cache.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "model/session_impl.h"

namespace gpt2 {

std::size_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  const auto [end, ignored] = std::ranges::mismatch(a, b);
  return static_cast<std::size_t>(end - a.begin());
}

void PrefixCache::add(Session session) noexcept {
  if (session.dropped() != 0) return;
  session.impl()->draft.reset();
  try {
    session.rewind(session.position() - session.waiting());
    if (session.position() > 0) sessions_.push_back(std::move(session));
  } catch (const std::bad_alloc&) {
    return;
  }
  constexpr std::size_t kMaxSessions = 64;
  if (sessions_.size() > kMaxSessions) sessions_.pop_front();
}

const Session* PrefixCache::find(std::span<const TokenId> prompt) {
  std::size_t longest = 0;
  auto best = sessions_.end();
  for (auto session = sessions_.begin(); session != sessions_.end(); ++session) {
    const std::size_t common = common_prefix(session->tokens(), prompt);
    if (common <= longest) continue;
    longest = common;
    best = session;
  }
  if (best == sessions_.end()) return nullptr;
  sessions_.splice(sessions_.end(), sessions_, best);
  return &sessions_.back();
}

void PrefixCache::shrink(std::size_t max_bytes) noexcept {
  std::size_t bytes = 0;
  auto keep = sessions_.end();
  while (keep != sessions_.begin()) {
    const Session& session = *std::prev(keep);
    bytes += Session::memory_bytes(session.model().config(), session.engine().kv_type(),
                                   session.position());
    if (bytes > max_bytes) break;
    --keep;
  }
  sessions_.erase(sessions_.begin(), keep);
}

}  // namespace gpt2
