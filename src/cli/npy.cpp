#include "cli/npy.h"

#include "cli/console.h"

namespace gpt2::cli {
namespace {

// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html: a magic word, the
// version, the length of the description in two bytes, and the description, padded so that the data
// begins at a multiple of 64 bytes. The header has the same length for any shape, so it can be
// overwritten later.
std::string header(std::size_t rows, std::size_t columns) {
  constexpr std::size_t kBytes = 128;
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(kBytes - bytes.size() - 2);
  bytes += '\0';
  bytes += format("{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", rows, columns);
  bytes.resize(kBytes - 1, ' ');
  return bytes + '\n';
}

}  // namespace

NpyWriter::NpyWriter(const std::string& file) : out_(file) {
  const std::string unknown_shape = header(0, 0);
  out_.write(std::as_bytes(std::span(unknown_shape)));
}

void NpyWriter::append(std::span<const std::vector<float>> rows) {
  for (const std::vector<float>& row : rows) out_.write(std::as_bytes(std::span(row)));
  rows_ += rows.size();
}

void NpyWriter::finish(std::size_t columns) {
  const std::string known_shape = header(rows_, columns);
  out_.overwrite(std::as_bytes(std::span(known_shape)));
  out_.commit();
}

}  // namespace gpt2::cli
