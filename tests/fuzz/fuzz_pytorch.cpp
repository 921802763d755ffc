#include "formats/pytorch.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpt2::fuzz::expect_answer([&] {
    const auto bytes = std::as_bytes(std::span(data, size));
    if (!gpt2::is_pytorch(bytes)) return;
    const gpt2::TensorFile file = gpt2::parse_pytorch(bytes, "file");
    for (const auto& [name, view] : file.tensors) gpt2::fuzz::touch(view);
  });
  return 0;
}
