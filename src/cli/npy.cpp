#include "cli/npy.h"

#include "base/text.h"

namespace gpt2::cli {

// A magic word, the version, the length of the description in two bytes, and the description,
// padded so that the data begins at a multiple of 64 bytes.
std::string npy_header(std::span<const std::size_t> shape, const char* type) {
  constexpr std::size_t kBytes = 192;
  std::string bytes(kNpyMagic);
  bytes += '\1';
  bytes += '\0';
  bytes += static_cast<char>(kBytes - bytes.size() - 2);
  bytes += '\0';
  std::string sizes;  // as Python writes a tuple: "(5,)", "(5, 3)"
  for (const std::size_t size : shape) sizes += concat(sizes.empty() ? "" : " ", size, ",");
  if (shape.size() > 1) sizes.pop_back();
  bytes += concat("{'descr': '", type, "', 'fortran_order': False, 'shape': (", sizes, "), }");
  bytes.resize(kBytes - 1, ' ');
  return bytes + '\n';
}

}  // namespace gpt2::cli
