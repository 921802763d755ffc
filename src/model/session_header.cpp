#include "model/session_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/hash.h"
#include "gpt2/types.h"
#include "model/fingerprint.h"

namespace gpt2 {
namespace {

constexpr char kMagic[] = {'g', 'p', 't', '2', 's', 'e', 's', 's'};
constexpr std::uint64_t kVersion = 2;

static_assert(sizeof(SessionHeader) == 12 * 8 && std::endian::native == std::endian::little);

constexpr std::size_t kChecksumBytes = 8;
constexpr std::size_t kMinBytes = sizeof(SessionHeader) + kChecksumBytes;

// Returns the name of a type without the zeros after it.
std::string_view type_name(const char (&name)[8]) {
  return {name, std::find(name, name + sizeof name, '\0')};
}

// Returns the bytes of each number in the cache. For a type that is not known, this is an arbitrary
// value; require_same_model() throws an error later.
std::size_t bytes_of_number(const SessionHeader& header) {
  return bytes_of(kv_type_named(type_name(header.kv_type)).value_or(KVType::f32));
}

// Returns the size of the file that the header describes, or nothing if no file can be that large.
std::optional<std::size_t> size_of(const SessionHeader& header) {
  const std::size_t sizes[] = {header.n_layer, header.n_head, header.head_dim, header.computed};
  const auto tokens = checked_product(std::span(&header.tokens, 1), sizeof(TokenId));
  const auto cache = checked_product(sizes, 2 * bytes_of_number(header));
  std::size_t size = kMinBytes;
  if (!tokens || __builtin_add_overflow(size, *tokens, &size)) return std::nullopt;
  if (!cache || __builtin_add_overflow(size, *cache, &size)) return std::nullopt;
  return size;
}

}  // namespace

SessionHeader session_header(const Engine& engine) {
  const Model& model = engine.model();
  const Config& config = model.config();
  SessionHeader header = {.magic = {},
                          .version = kVersion,
                          .weight_type = {},
                          .kv_type = {},
                          .model = fingerprint(*model.transformer()),
                          .n_layer = config.n_layer,
                          .n_head = config.n_head,
                          .head_dim = config.head_dim(),
                          .tokens = 0,
                          .computed = 0,
                          .dropped = 0,
                          .written = 0};
  std::copy_n(kMagic, sizeof kMagic, header.magic);
  name_of(model.weight_type()).copy(header.weight_type, sizeof header.weight_type);
  name_of(engine.kv_type()).copy(header.kv_type, sizeof header.kv_type);
  return header;
}

bool has_session_magic(Bytes file) {
  return text_of(file).starts_with(std::string_view(kMagic, sizeof kMagic));
}

SessionParts read_session(Bytes file, const std::string& name) {
  SessionHeader header;
  const std::size_t magic = std::min(file.size(), sizeof kMagic);
  if (magic == 0 || std::memcmp(file.data(), kMagic, magic) != 0) {
    fail(name, "is not the state of a session: expected a file that begins with ",
         quote({kMagic, sizeof kMagic}), ", found ", quote(text_of(file.first(magic))),
         "; to go on with a text, give it as the prompt (--file)");
  }
  if (file.size() < kMinBytes) {
    fail(name, "is cut short: expected at least ", kMinBytes, " bytes, found ", file.size());
  }
  std::memcpy(&header, file.data(), sizeof header);
  if (header.version != kVersion) {
    fail(name, "has a format that this version cannot read: expected version ", kVersion,
         ", found ", header.version);
  }
  const std::optional<std::size_t> size = size_of(header);
  if (size != file.size()) {
    fail(name, "is cut short or damaged: expected ",
         size ? concat(*size, " bytes") : "sizes in the header that a file can have", ", found ",
         file.size(), " bytes");
  }
  const Bytes contents = file.first(file.size() - kChecksumBytes);
  Hash hash;
  hash.add(contents);
  const auto checksum = load_little_endian<std::uint64_t>(file, contents.size());
  if (checksum != hash.value()) {
    fail(name, "is damaged: expected the checksum ", checksum, ", found ", hash.value(),
         "; save the session again");
  }
  const std::size_t cache = sizeof header + header.tokens * sizeof(TokenId);
  return {header, contents.subspan(sizeof header, cache - sizeof header), contents.subspan(cache)};
}

void require_same_model(const SessionHeader& header, const Engine& engine,
                        const std::string& name) {
  const SessionHeader expected = session_header(engine);
  const auto sizes = [](const SessionHeader& h) {
    return concat(h.n_layer, " layers of ", h.n_head, " heads of ", h.head_dim, " channels");
  };
  if (sizes(header) != sizes(expected)) {
    fail(name, "is the state of another model: expected ", sizes(expected), ", found ",
         sizes(header));
  }
  const std::string_view weights = type_name(header.weight_type);
  if (weights != type_name(expected.weight_type)) {
    fail(name, "is the state of a model with other weights: expected ",
         type_name(expected.weight_type), ", found ", quote(weights),
         "; load the model with that type (LoadOptions::dtype, or --dtype)");
  }
  const std::string_view type = type_name(header.kv_type);
  if (type != type_name(expected.kv_type)) {
    fail(name, "is a state with keys and values of another type: expected ",
         type_name(expected.kv_type), ", found ", quote(type),
         "; choose that type (EngineOptions::kv_type, or --kv)");
  }
  if (header.model != expected.model) {
    fail(name, "is the state of another model, of the same size: expected the hash ",
         expected.model, ", found ", header.model, "; load the model that it was saved with");
  }
}

}  // namespace gpt2
