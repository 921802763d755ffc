#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fail.h"
#include "base/hash.h"
#include "base/mapped_file.h"
#include "base/new_file.h"
#include "model/engine_impl.h"
#include "model/transformer.h"

// The file of a session.
//
// All numbers are little-endian, and the parts follow each other without gaps:
//
//   the header    below
//   the tokens    (tokens), 32 bits each
//   the cache     (n_layer, n_head, 2, computed, head_dim) f32 or f16: keys, then values
//   the checksum  64 bits: the Hash of everything before it

namespace gpt2 {
namespace {

namespace fs = std::filesystem;

// The header, with the same bytes as in the file.
struct SessionHeader {
  char magic[8] = {'g', 'p', 't', '2', 's', 'e', 's', 's'};
  std::uint64_t version = 2;
  char weight_type[8] = {};  // the name of the weights' type, with zeros after it
  char kv_type[8] = {};      // the name of the type of keys and values: "f32" or "f16"
  std::uint64_t model = 0;   // the fingerprint of the model
  std::uint64_t n_layer = 0, n_head = 0, head_dim = 0;
  std::uint64_t tokens = 0;
  std::uint64_t computed = 0;  // how many of the first tokens have keys and values in the file
  std::uint64_t dropped = 0;   // how many tokens of the text Session::slide has dropped
  std::uint64_t written = 0;   // how many of the last tokens generate() wrote after its prompt
};

constexpr std::string_view kMagic = "gpt2sess";
static_assert(sizeof(SessionHeader) == 12 * 8 && std::endian::native == std::endian::little);

constexpr std::size_t kChecksumBytes = 8;
constexpr std::size_t kMinBytes = sizeof(SessionHeader) + kChecksumBytes;

// Returns the name of a type without the zeros after it.
std::string_view type_name(const char (&name)[8]) {
  const std::string_view all(name, sizeof name);
  return all.substr(0, all.find('\0'));
}

// -- The fingerprint of a model -----------------------------------------------------------------

constexpr std::size_t kSamples = 16;
constexpr std::size_t kSampleBytes = 256;

// Adds a text to the hash, padded with zeros to whole words as Hash::add needs them.
void add_text(Hash& hash, std::string text) {
  text.resize((text.size() + 3) / 4 * 4);
  hash.add(std::as_bytes(std::span(text)));
}

void add_to(Hash& hash, const Tensor& tensor) { hash.add(std::as_bytes(tensor.values())); }

void add_to(Hash& hash, const Weight& weight) {
  add_text(hash, std::string(name_of(weight.type)));
  const std::uint64_t sizes[] = {weight.k, weight.n, static_cast<std::uint64_t>(weight.layout)};
  hash.add(std::as_bytes(std::span(sizes)));
  const Bytes bytes(weight.data, weight.bytes() / 4 * 4);
  if (bytes.size() <= kSamples * kSampleBytes) {
    hash.add(bytes);
    return;
  }
  const std::size_t step = (bytes.size() - kSampleBytes) / (kSamples - 1);
  for (std::size_t i = 0; i < kSamples; ++i) hash.add(bytes.subspan(i * step, kSampleBytes));
}

// Returns a hash that distinguishes models. It covers the config except for the ids of bos and
// eos and reorder_and_upcast_attn, the files of an adapter that is merged, all biases and
// parameters of LayerNorm, and the type, the shape and 16 samples of 256 bytes of each matrix. It
// reads only about 4 KB of each matrix, so it takes milliseconds for any model. The hash is the
// same on every machine.
std::uint64_t fingerprint(const Transformer& transformer) {
  // What does not affect keys and values.
  Config config = transformer.config;
  config.bos_token_id.reset();
  config.eos_token_id.clear();
  config.reorder_and_upcast_attn = false;

  Hash hash;
  add_text(hash, config.to_json());
  if (transformer.adapter_hash != 0) add_text(hash, concat("adapter ", transformer.adapter_hash));
  for_each_tensor(transformer, [&](const auto& tensor, const std::string&, const Shape&) {
    add_to(hash, tensor);
  });
  return hash.value();
}

// -- The header ---------------------------------------------------------------------------------

// Returns the header of a session of this engine that has no tokens.
SessionHeader session_header(const Engine& engine) {
  const Model& model = engine.model();
  const Config& config = model.config();
  SessionHeader header = {.model = fingerprint(*model.transformer()),
                          .n_layer = config.n_layer,
                          .n_head = config.n_head,
                          .head_dim = config.head_dim()};
  name_of(model.weight_type()).copy(header.weight_type, sizeof header.weight_type);
  name_of(engine.kv_type()).copy(header.kv_type, sizeof header.kv_type);
  return header;
}

// Checks the beginning of a file. Messages begin with `name`.
SessionHeader read_header(Bytes file, const std::string& name) {
  SessionHeader header;
  const std::string_view magic = text_of(file).substr(0, kMagic.size());
  if (magic.empty() || !kMagic.starts_with(magic)) {
    fail(name, "is not the state of a session: expected a file that begins with ", quote(kMagic),
         ", found ", quote(magic), "; to go on with a text, give it as the prompt (--file)");
  }
  if (file.size() < kMinBytes) {
    fail(name, "is cut short: expected at least ", kMinBytes, " bytes, found ", file.size());
  }
  std::memcpy(&header, file.data(), sizeof header);
  if (header.version != SessionHeader().version) {
    fail(name, "has a format that this version cannot read: expected version ",
         SessionHeader().version, ", found ", header.version);
  }
  return header;
}

// Throws unless the session that was saved had the same weights, and keys and values of the same
// type, as the sessions of `engine`.
void require_same_model(const SessionHeader& header, const Engine& engine,
                        const std::string& name) {
  const SessionHeader expected = session_header(engine);
  const auto kind = [](const SessionHeader& h) {
    return concat(h.n_layer, " layers of ", h.n_head, " heads of ", h.head_dim,
                  " channels, weights of ", quote(type_name(h.weight_type)),
                  ", keys and values of ", quote(type_name(h.kv_type)));
  };
  if (kind(header) != kind(expected)) {
    fail(name, "is the state of another model: expected ", kind(expected), "; found ", kind(header),
         ": load that model, with these types (--dtype and --kv)");
  }
  if (header.model != expected.model) {
    fail(name, "is the state of another model, of the same size: expected the hash ",
         expected.model, ", found ", header.model, "; load the model that it was saved with");
  }
}

// Checks the numbers of tokens, the size and the checksum of a file whose header is that of a model
// with this config. Returns what follows the header. The products do not overflow, because the
// config has checked the size of the keys and values of all positions.
Bytes read_contents(Bytes file, const SessionHeader& header, const Config& config, KVType type,
                    const std::string& name) {
  const auto require = [&](const char* what, std::uint64_t found, std::uint64_t max) {
    if (found > max) fail(name, what, ": expected at most ", max, ", found ", found);
  };
  require("tokens", header.tokens, config.n_positions);
  require("tokens with keys and values", header.computed, header.tokens);
  require("generated tokens", header.written, header.tokens);
  const auto tokens = static_cast<std::size_t>(header.tokens);
  const auto computed = static_cast<std::size_t>(header.computed);
  const std::size_t cache = 2 * config.n_layer * config.n_embd * computed * bytes_of(type);
  const std::size_t size = kMinBytes + tokens * sizeof(TokenId) + cache;
  if (size != file.size()) {
    fail(name, "is cut short or damaged: expected ", size, " bytes, found ", file.size());
  }
  const Bytes contents = file.first(size - kChecksumBytes);
  Hash hash;
  hash.add(contents);
  const auto checksum = load_little_endian<std::uint64_t>(file, contents.size());
  if (checksum != hash.value()) {
    fail(name, "is damaged: expected the checksum ", checksum, ", found ", hash.value(),
         "; save the session again");
  }
  return contents.subspan(sizeof header);
}

// Reads the tokens at the beginning of the contents.
std::vector<TokenId> read_tokens(Bytes contents, std::size_t count, const Config& config,
                                 const std::string& name) {
  std::vector<TokenId> tokens(count);
  if (count > 0) std::memcpy(tokens.data(), contents.data(), count * sizeof(TokenId));
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

bool is_session_file(const fs::path& file) {
  return text_of(MappedFile(file).bytes()).starts_with(kMagic);
}

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
  header.dropped = impl->history.dropped;
  header.written = impl->history.written;
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
  const SessionHeader header = read_header(mapped.bytes(), name);
  require_same_model(header, engine, name);
  const Config& config = engine.model().config();
  const KVType type = engine.kv_type();
  const Bytes contents = read_contents(mapped.bytes(), header, config, type, name);
  const auto tokens = read_tokens(contents, static_cast<std::size_t>(header.tokens), config, name);
  if (options.max_tokens != 0 && options.max_tokens < tokens.size()) {
    fail(ErrorCode::invalid_argument, name, "has ", tokens.size(),
         " tokens, but max_tokens allows only ", options.max_tokens);
  }

  Session session(engine, options);
  Session::Impl& impl = *session.impl();
  const auto computed = static_cast<std::size_t>(header.computed);
  const std::size_t head_dim = config.head_dim();
  const auto widen = type == KVType::f16 ? kernels().widen_f16 : kernels().widen_f32;
  const std::byte* at = contents.data() + tokens.size() * sizeof(TokenId);
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
  impl.history = {.dropped = static_cast<std::size_t>(header.dropped),
                  .written = static_cast<std::size_t>(header.written)};
  return session;
}

}  // namespace gpt2
