#include "formats/zip.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpt2::fuzz::expect_answer([&] {
    const gpt2::ZipReader zip(std::as_bytes(std::span(data, size)), "file");
    for (const auto& file : zip.files()) {
      gpt2::fuzz::expect_answer([&] { gpt2::fuzz::touch(zip.content(file.first)); });
      gpt2::fuzz::expect_answer([&] { gpt2::fuzz::touch(zip.verified_content(file.first)); });
    }
  });
  return 0;
}
