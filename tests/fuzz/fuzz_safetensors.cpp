#include "formats/safetensors.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpt2::fuzz::expect_answer([&] {
    const auto tensors = gpt2::parse_safetensors(std::as_bytes(std::span(data, size)), "file");
    for (const auto& [name, view] : tensors) gpt2::fuzz::touch(view);
  });
  return 0;
}
