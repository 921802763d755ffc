// Runs a fuzz target on every file of the given folders, without a fuzzer.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int count, char* folders[]) {
  std::size_t inputs = 0;
  for (int i = 1; i < count; ++i) {
    for (const std::filesystem::path& file : std::filesystem::directory_iterator(folders[i])) {
      std::ifstream stream(file, std::ios::binary);
      const std::vector<char> bytes(std::istreambuf_iterator<char>(stream), {});
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++inputs;
    }
  }
  std::printf("%zu inputs\n", inputs);
  return inputs == 0 ? 1 : 0;
}
