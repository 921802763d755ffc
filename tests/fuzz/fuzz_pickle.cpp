#include "formats/state_dict.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpt2::fuzz::expect_answer([&] {
    const gpt2::Pickle pickle(std::as_bytes(std::span(data, size)), 0, "file");
    for (const gpt2::Pickle::Value& value : pickle.values) {
      for (const gpt2::Pickle::Value* item : value.items) static_cast<void>(item->kind);
    }
    static_cast<void>(gpt2::read_state_dict(*pickle.root, "file"));
  });
  return 0;
}
