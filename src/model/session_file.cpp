#include "gpt2/session.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/fail.h"
#include "base/hash.h"
#include "base/mapped_file.h"
#include "base/new_file.h"
#include "model/session_header.h"
#include "model/session_impl.h"

namespace gpt2 {
namespace {

namespace fs = std::filesystem;

std::vector<TokenId> tokens_of(const SessionParts& parts, const Config& config,
                               const std::string& name) {
  const SessionHeader& header = parts.header;
  if (header.tokens > config.n_positions) {
    fail(name, "has more tokens than the model has positions: expected at most ",
         config.n_positions, ", found ", header.tokens);
  }
  if (header.computed > header.tokens) {
    fail(name, "has more keys and values than tokens: expected at most ", header.tokens, ", found ",
         header.computed);
  }
  if (header.written > header.tokens) {
    fail(name, "has more generated tokens than tokens: expected at most ", header.tokens,
         ", found ", header.written);
  }
  std::vector<TokenId> tokens(header.tokens);
  if (!tokens.empty()) std::memcpy(tokens.data(), parts.tokens.data(), parts.tokens.size());
  for (const TokenId token : tokens) {
    if (token >= 0 && static_cast<std::size_t>(token) < config.vocab_size) continue;
    fail(name, "has a token outside the model's vocabulary: expected an id from 0 to ",
         config.vocab_size - 1, ", found ", token);
  }
  return tokens;
}

// Calls f(layer, head) for all heads, in their order in the file.
template <class F>
void for_each_head(const Config& config, const F& f) {
  for (std::size_t layer = 0; layer < config.n_layer; ++layer) {
    for (std::size_t head = 0; head < config.n_head; ++head) f(layer, head);
  }
}

}  // namespace

bool is_session_file(const fs::path& file) { return has_session_magic(MappedFile(file).bytes()); }

void save_session(const Session& session, const fs::path& file) {
  const Session::Impl* const impl = session.impl();
  if (impl == nullptr) reject("a session that was moved from cannot be saved");
  NewFile out(file);
  Hash hash;
  const auto write = [&](Bytes bytes) {
    hash.add(bytes);
    out.write(bytes);
  };
  const Config& config = session.model().config();
  SessionHeader header = session_header(session.engine());
  header.tokens = impl->tokens.size();
  header.computed = impl->computed;
  header.dropped = impl->dropped;
  header.written = impl->written;
  write(std::as_bytes(std::span(&header, 1)));
  write(std::as_bytes(session.tokens()));

  const std::size_t head_dim = config.head_dim();
  std::vector<float> rows(2 * impl->computed * head_dim);
  std::vector<std::uint16_t> halves(impl->cache.type() == KVType::f16 ? rows.size() : 0);
  const Matrix keys{rows.data(), impl->computed, head_dim, head_dim};
  const Matrix values{keys.row(impl->computed), impl->computed, head_dim, head_dim};
  for_each_head(config, [&](std::size_t layer, std::size_t head) {
    impl->cache.read(layer, head, keys, values);
    if (!halves.empty()) kernels().narrow_f16(halves.data(), rows.data(), rows.size());
    write(halves.empty() ? std::as_bytes(std::span(rows)) : std::as_bytes(std::span(halves)));
  });
  const std::uint64_t checksum = hash.value();
  out.write(std::as_bytes(std::span(&checksum, 1)));
  out.commit();
}

Session load_session(const Engine& engine, const fs::path& file, const SessionOptions& options) {
  const MappedFile mapped(file);
  const std::string name = file.string();
  const SessionParts parts = read_session(mapped.bytes(), name);
  require_same_model(parts.header, engine, name);
  const Config& config = engine.model().config();
  const std::vector<TokenId> tokens = tokens_of(parts, config, name);
  if (options.max_tokens != 0 && options.max_tokens < tokens.size()) {
    fail(ErrorCode::invalid_argument, name, "has ", tokens.size(),
         " tokens, but max_tokens allows only ", options.max_tokens);
  }

  Session session(engine, options);
  Session::Impl& impl = *session.impl();
  const std::size_t computed = parts.header.computed;
  const std::size_t head_dim = config.head_dim();
  const KVType type = engine.kv_type();
  const auto widen = type == KVType::f16 ? kernels().widen_f16 : kernels().widen_f32;
  const std::byte* at = parts.cache.data();
  std::vector<float> rows(2 * computed * head_dim);
  const ConstMatrix keys{rows.data(), computed, head_dim, head_dim};
  const ConstMatrix values{keys.row(computed), computed, head_dim, head_dim};
  for_each_head(config, [&](std::size_t layer, std::size_t head) {
    widen(rows.data(), at, rows.size());
    impl.cache.store(layer, head, 0, keys, values);
    at += rows.size() * bytes_of(type);
  });
  impl.tokens.assign(tokens.begin(), tokens.end());
  impl.computed = computed;
  impl.unchanged = 0;  // the file does not say whether an observer has changed anything
  impl.dropped = parts.header.dropped;
  impl.written = parts.header.written;
  return session;
}

}  // namespace gpt2
