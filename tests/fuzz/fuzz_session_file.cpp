#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cli/bench/random_model.h"
#include "fuzz.h"
#include "gpt2/session.h"
#include "support/session_file.h"
#include "support/temporary_directory.h"

namespace {

using namespace gpt2;

// Loads the file and, if it is accepted, continues the session.
void use(const Engine& engine, const std::filesystem::path& file) {
  fuzz::expect_answer([&] {
    Session session = load_session(engine, file);
    const std::size_t tokens = session.position();
    if (tokens > session.capacity() || session.waiting() > tokens) __builtin_trap();
    if (tokens < session.capacity()) session.forward(std::vector<TokenId>{1});
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Model model = random_model(
      {.vocab_size = 5, .n_positions = 40, .n_embd = 6, .n_layer = 1, .n_head = 2}, {});
  static const Engine engine(model, {.threads = 1});
  static const Engine halves(model, {.threads = 1, .kv_type = KVType::f16});
  static const test::TemporaryDirectory directory;
  static const std::string good = [] {
    save_session(Session(engine), directory.path() / "good");
    std::ifstream file(directory.path() / "good", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();

  std::string bytes(reinterpret_cast<const char*>(data), size);
  use(engine, directory.write("session", bytes));
  if (size < 40) return 0;
  // Insert the hash of the model and the checksum, which a fuzzer cannot guess.
  bytes.replace(32, 8, good, 32, 8);
  const auto file = directory.write("session", test::with_checksum(bytes));
  use(engine, file);
  use(halves, file);
  return 0;
}
