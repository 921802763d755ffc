// Tests the state of a session on disk: a loaded session continues with the same bits as the one
// that was saved, and every invalid file is refused with one clear line. fuzz_session_file tries
// random damage.
#include "support/session_file.h"

#include "base/file_source.h"
#include "cli/bench/random_model.h"
#include "formats/safetensors.h"
#include "gpt2/session.h"
#include "model/engine_impl.h"
#include "support/bytes.h"
#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::session_file_test {

namespace fs = std::filesystem;

namespace {

const Model& model() {
  static const Model made = random_model(
      {.vocab_size = 53, .n_positions = 1100, .n_embd = 18, .n_layer = 2, .n_head = 2}, {});
  return made;
}

const TemporaryDirectory& place() {
  static const TemporaryDirectory directory;
  return directory;
}

// Returns the name of a file that the tests of this program share.
fs::path file() { return place().path() / "session"; }

Session load(int threads = 1, std::size_t max_tokens = 0, KVType type = KVType::f32) {
  const Engine engine(model(), {.threads = threads, .kv_type = type});
  return load_session(engine, file(), {.max_tokens = max_tokens});
}

// Returns whether the two sessions are in the same state, and give the same logits for more tokens.
bool go_on_alike(Session& a, Session& b, std::span<const TokenId> tokens) {
  if (!std::ranges::equal(a.tokens(), b.tokens()) || a.waiting() != b.waiting()) return false;
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1}, tokens.size() - 2}) {
    const std::vector<float> logits = all_logits(a, tokens.first(piece));
    if (!same_bits(logits, all_logits(b, tokens.first(piece)))) return false;
    tokens = tokens.subspan(piece);
  }
  return true;
}

// Returns the bytes of the file of a small session. It has seven tokens, two of which wait.
std::string small_state() {
  Session session = session_of(model(), 1, 32);
  session.forward(random_tokens(model(), 5, 1));
  session.append(random_tokens(model(), 2, 2));
  save_session(session, file());
  return read_bytes(file());
}

std::string refusal_of_bytes(const std::string& bytes, const Model& of = model()) {
  fs::remove(file());  // because ext4 flushes a file that is overwritten
  place().write("session", bytes);
  return refusal_of([&] { (void)load_session(Engine(of, {.threads = 1}), file()); });
}

std::string refusal_with(StateFields fields, const Model& of = model()) {
  return refusal_of_bytes(bytes_of(fields), of);
}

// Whether a refusal names the file and all of these facts.
bool names(const std::string& refusal, const std::vector<std::string>& facts) {
  INFO(refusal);
  const auto is_named = [&](const std::string& fact) {
    return refusal.find(fact) != std::string::npos;
  };
  return refusal.starts_with(file().string() + ": ") && std::ranges::all_of(facts, is_named);
}

}  // namespace

TEST_CASE("a loaded session continues with the same bits as the one that was saved") {
  const std::vector<TokenId> prompt = random_tokens(model(), 1000, 1);
  const std::vector<TokenId> more = random_tokens(model(), 70, 2);
  for (const std::size_t length : {0, 1, 16, 255, 256, 257, 1000}) {
    INFO(length << " tokens");
    Session session = session_of(model(), 2);
    if (length > 0) session.forward(std::span(prompt).first(length));
    save_session(session, file());
    Session loaded = load(1);
    CHECK(loaded.position() == length);
    CHECK(loaded.capacity() == 1100);
    CHECK(go_on_alike(session, loaded, more));
  }
}

TEST_CASE("sessions with other room, forks and rewound sessions are saved as well") {
  const std::vector<TokenId> prompt = random_tokens(model(), 400, 1);
  const std::vector<TokenId> more = random_tokens(model(), 30, 2);
  for (const auto& [room, other_room] : {std::pair{130, 256}, {300, 130}, {1100, 130}}) {
    INFO("room for " << room << ", then for " << other_room);
    Session session = session_of(model(), 1, static_cast<std::size_t>(room));
    session.forward(std::span(prompt).first(100));
    save_session(session, file());
    Session loaded = load(1, static_cast<std::size_t>(other_room));
    CHECK(loaded.capacity() == static_cast<std::size_t>(other_room));
    CHECK(go_on_alike(session, loaded, more));
  }
  Session parent = session_of(model(), 1);
  parent.forward(prompt);
  Session fork = parent.fork();
  fork.forward(more);
  parent.rewind(300);
  for (Session* const session : {&fork, &parent}) {
    save_session(*session, file());
    Session loaded = load();
    CHECK(go_on_alike(*session, loaded, more));
  }
}

TEST_CASE("tokens that wait still wait in the loaded session, and those dropped are counted") {
  Session session = session_of(model(), 1);
  session.append(random_tokens(model(), 3, 1));
  save_session(session, file());
  CHECK(load().waiting() == 3);
  session.append(random_tokens(model(), 280, 2));
  save_session(session, file());
  Session loaded = load();
  CHECK(loaded.waiting() == 283);
  CHECK(go_on_alike(session, loaded, random_tokens(model(), 10, 3)));
  CHECK(session.slide(4, 1000) > 0);
  save_session(session, file());
  CHECK(load().dropped() == session.dropped());
}

TEST_CASE("a session file has the bytes that its format defines") {
  const std::string bytes = small_state();
  const StateFields fields = fields_of(bytes);
  CHECK(bytes.substr(0, 8) == "gpt2sess");
  CHECK(fields.version == 2);
  CHECK(fields.weight_type == std::string("f32\0\0\0\0\0", 8));
  CHECK(fields.kv_type == fields.weight_type);
  CHECK(fields.n_layer == 2);
  CHECK(fields.n_head == 2);
  CHECK(fields.head_dim == 9);
  CHECK(fields.computed == 5);
  CHECK(fields.dropped == 0);
  CHECK(fields.written == 0);
  std::vector<TokenId> tokens = random_tokens(model(), 5, 1);
  for (const TokenId token : random_tokens(model(), 2, 2)) tokens.push_back(token);
  CHECK(fields.tokens == tokens);
  CHECK(fields.cache.size() == 2 * 2 * 2 * 5 * 9 * sizeof(float));
  CHECK(bytes_of(fields) == bytes);

  // The value of token 3 in head 1 of layer 1, which the test reads from the cache itself.
  const Session session = load();
  const KVCache& cache = session.impl()->cache;
  const std::size_t at = (((2 * 1 + 1) * 2 + 1) * 5 + 3) * 9;
  CHECK(std::memcmp(fields.cache.data() + at * sizeof(float),
                    static_cast<const float*>(cache.blocks()[0]) + cache.values(1, 1) + 3 * 9,
                    9 * sizeof(float)) == 0);
}

TEST_CASE("a session of f16 keys and values is saved as f16, and loaded as f16 alone") {
  const std::vector<TokenId> prompt = random_tokens(model(), 300, 1);
  const Engine engine(model(), {.threads = 1, .kv_type = KVType::f16});
  for (const std::size_t length : {0, 1, 257, 300}) {
    INFO(length << " tokens");
    Session session(engine);
    if (length > 0) session.forward(std::span(prompt).first(length));
    save_session(session, file());
    Session loaded = load(2, 0, KVType::f16);
    CHECK(go_on_alike(session, loaded, random_tokens(model(), 30, 2)));
    const StateFields fields = fields_of(read_bytes(file()));
    CHECK(fields.kv_type == std::string("f16\0\0\0\0\0", 8));
    CHECK(fields.cache.size() == 2 * 2 * 2 * length * 9 * 2);
    CHECK(names(refusal_of([] { (void)load(); }), {"of 'f32'; found", "of 'f16':"}));
  }
  small_state();
  CHECK(names(refusal_of([] { (void)load(1, 0, KVType::f16); }), {"of 'f16'; found", "of 'f32':"}));
}

TEST_CASE("a file that is cut, has a wrong bit or more bytes is refused") {
  const std::string bytes = small_state();
  REQUIRE(refusal_of_bytes(bytes) == "(accepted)");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK(names(refusal_of_bytes(bytes.substr(0, size)), {size == 0 ? "gpt2sess" : "cut short"}));
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
    CHECK(refusal_of_bytes(damaged) != "(accepted)");
  }
  CHECK(names(refusal_of_bytes(bytes + "x"), {"expected ", "found "}));
  CHECK(names(refusal_of_bytes("PK\3\4 another file of whatever kind"),
              {"'gpt2sess'", "'PK\\x03\\x04 ano'"}));
}

TEST_CASE("a file with a right checksum and impossible numbers is refused") {
  using Change = std::function<void(StateFields&)>;
  const StateFields good = fields_of(small_state());
  const auto token = [](TokenId id) { return Change([id](auto& f) { f.tokens[6] = id; }); };
  const std::pair<Change, std::vector<std::string>> cases[] = {
      // As a machine of the other byte order would write it.
      {[](auto& f) { f.version = std::uint64_t{1} << 56; }, {"version 2", "72057594037927936"}},
      {[](auto& f) { std::swap(f.n_layer, f.head_dim); },
       {"2 layers of 2 heads of 9 channels", "9 layers of 2 heads of 2 channels"}},
      {[](auto& f) { f.weight_type = std::string("f\x1b[2Jxyz", 8); },
       {"weights of 'f32'", "weights of 'f\\x1b[2Jxyz'"}},
      {[](auto& f) { f.kv_type = std::string("f\x1b[2Jxyz", 8); },
       {"values of 'f32'", "values of 'f\\x1b[2Jxyz'"}},
      {[](auto& f) { ++f.model; }, {"another model"}},
      {token(-1), {"0 to 52", "found -1"}},
      {token(53), {"0 to 52", "found 53"}},
      {token(INT32_MIN), {"0 to 52", "found -2147483648"}},
      {[](auto& f) { f.tokens.resize(1101); }, {"at most 1100", "found 1101"}},
      {[](auto& f) { f.tokens.resize(4); }, {"at most 4", "found 5"}},
      {[](auto& f) { f.written = 8; }, {"at most 7", "found 8"}},
  };
  for (const auto& [change, facts] : cases) {
    StateFields fields = good;
    change(fields);
    CHECK(names(refusal_with(fields), facts));
  }
}

TEST_CASE("absurd sizes are refused before anything is allocated") {
  const StateFields good = fields_of(small_state());
  for (const std::uint64_t size : {std::uint64_t{6}, std::uint64_t{1} << 32, std::uint64_t{1} << 61,
                                   std::uint64_t{1} << 62, UINT64_MAX}) {
    for (std::size_t word = 5; word < 10; ++word) {
      std::string bytes = bytes_of(good);
      bytes.replace(8 * word, 8, little_endian(size));
      INFO("word " << word << ", " << size);
      CHECK(names(refusal_of_bytes(with_checksum(bytes)), {"expected ", "found "}));
    }
  }
}

TEST_CASE("a state is only for its own model") {
  const Config config = model().config();
  const std::string bytes = small_state();
  const auto refusal = [&](Config changed, WeightType type = WeightType::stored) {
    return refusal_of_bytes(bytes, random_model(changed, {.dtype = type}));
  };
  CHECK(refusal(config) == "(accepted)");
  Config changed = config;
  changed.eos_token_id = {7};  // has nothing to do with keys and values
  changed.reorder_and_upcast_attn = !config.reorder_and_upcast_attn;  // nor has this in f32
  CHECK(refusal(changed) == "(accepted)");
  changed.layer_norm_epsilon = 2e-5f;
  CHECK(names(refusal(changed), {"another model"}));
  changed = config;
  changed.n_layer = 1;
  CHECK(names(refusal(changed), {"another model", "expected 1 layers", "found 2 layers"}));
  changed = config;
  changed.vocab_size = 54;
  CHECK(names(refusal(changed), {"another model"}));
  CHECK(names(refusal(config, WeightType::f16), {"weights of 'f16'", "weights of 'f32'"}));
}

TEST_CASE("a state is for one model's weights, down to a bit of a bias or of LayerNorm") {
  const TemporaryDirectory directory;
  const fs::path source = fs::path(GPT2_TEST_DATA) / "oracle/cases/tiny_default";
  fs::copy(source, directory.path());
  const fs::path path = directory.path() / "model.safetensors";
  const std::string weights = read_bytes(path);
  save_session(Session(Model::load(source)), file());
  for (const auto& [name, tensor] : parse_safetensors(as_bytes(weights), "f")) {
    if (tensor.shape.rank() != 1) continue;
    INFO(name);
    const auto* const data = reinterpret_cast<const char*>(tensor.data);
    std::string changed = weights;
    changed[static_cast<std::size_t>(data - weights.data()) + tensor.bytes - 1] ^= 1;
    directory.write("model.safetensors", changed);
    const Engine other(Model::load(directory.path()), {.threads = 1});
    const auto load_other = [&] { (void)load_session(other, file()); };
    CHECK(names(refusal_of(load_other), {"another model"}));
  }
}

TEST_CASE("impossible arguments are refused") {
  small_state();
  CHECK(names(refusal_of([] { (void)load(1, 6); }), {"7 tokens", "max_tokens", "6"}));
  CHECK(refusal_of([] { (void)load(1, 1101); }).find("1100 positions") != std::string::npos);
  CHECK(load(1, 7).position() == 7);
  Session session(model());
  const Session other = std::move(session);
  CHECK_THROWS_AS(save_session(session, file()), Error);
  CHECK_THROWS_AS(load_session(Engine(model()), place().path() / "none"), Error);
}

}  // namespace gpt2::test::session_file_test
