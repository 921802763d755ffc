#include "cli/npy.h"

#include "cli/console.h"
#include "gpt2/new_file.h"

namespace gpt2::cli {
namespace {

// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html: a magic word, the
// version, the length of the description in two bytes, and the description, padded so that the data
// begins at a multiple of 64 bytes.
std::string header(std::size_t rows, std::size_t columns) {
  constexpr std::size_t kFixed = 10;
  constexpr std::size_t kAlignment = 64;
  std::string description =
      format("{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", rows, columns);
  while ((kFixed + description.size() + 1) % kAlignment != 0) description += ' ';
  description += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(description.size() % 256);
  bytes += static_cast<char>(description.size() / 256);
  return bytes + description;
}

}  // namespace

void write_npy(const std::string& file, std::span<const std::vector<float>> rows,
               std::size_t columns) {
  NewFile out(file);
  const std::string description = header(rows.size(), columns);
  out.write(std::as_bytes(std::span(description)));
  for (const std::vector<float>& row : rows) out.write(std::as_bytes(std::span(row)));
  out.commit();
}

}  // namespace gpt2::cli
