#include "formats/checkpoint.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpt2::fuzz::expect_answer([&] {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const auto& [shard, tensors] : gpt2::parse_shard_index(text, "file")) {
      const std::filesystem::path path(shard);
      if (path.filename() != path || path.empty() || path == "..") __builtin_trap();
    }
  });
  return 0;
}
