#include "cli/npy.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "cli/console.h"

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
  std::ofstream out(file, std::ios::binary);
  out << header(rows.size(), columns);
  for (const std::vector<float>& row : rows) {
    out.write(reinterpret_cast<const char*>(row.data()),
              static_cast<std::streamsize>(row.size() * sizeof(float)));
  }
  out.close();
  if (!out) refuse(format("cannot write %s: %s", file.c_str(), std::strerror(errno)));
}

}  // namespace gpt2::cli
