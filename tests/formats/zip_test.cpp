#include "formats/zip.h"

#include <map>
#include <string>

#include "support/bytes.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/zip_writer.h"

namespace gpt2::test::zip_test {

namespace {

std::string content(const ZipReader& zip, std::string_view name) {
  const auto bytes = zip.verified_content(name);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns the error from opening the archive or from asking for its file 'a'.
std::string refusal(const std::string& archive) {
  return refusal_of([&] {
    const ZipReader zip(as_bytes(archive), "f");
    (void)zip.verified_content("a");
  });
}

const std::vector<ZipMember> kTwo = {{.name = "a", .data = "first"},
                                     {.name = "top/data.pkl", .data = "the second"}};

}  // namespace

TEST_CASE("stored files are found in place") {
  const std::string archive = write_zip(kTwo);
  const ZipReader zip(as_bytes(archive), "f");
  CHECK(zip.files().size() == 2);
  CHECK(content(zip, "a") == "first");
  CHECK(content(zip, "top/data.pkl") == "the second");
  const char* const data = reinterpret_cast<const char*>(zip.content("a").data());
  CHECK(data == archive.data() + archive.find("first"));
}

TEST_CASE("zip64, data descriptors, comments, empty files and empty archives are read") {
  for (const bool zip64 : {false, true}) {
    for (const bool descriptors : {false, true}) {
      for (const char* comment : {"", "a comment", "PK\x05\x06 in a comment"}) {
        const std::string archive = write_zip(
            kTwo,
            {.zip64 = zip64, .data_descriptors = descriptors, .comment = comment, .count = {}});
        const ZipReader zip(as_bytes(archive), "f");
        CHECK(content(zip, "a") == "first");
        CHECK(content(zip, "top/data.pkl") == "the second");
      }
    }
  }
  const std::string empty_file = write_zip({{.name = "a", .data = ""}});
  CHECK(content(ZipReader(as_bytes(empty_file), "f"), "a").empty());
  const std::string empty = write_zip({});
  CHECK(ZipReader(as_bytes(empty), "f").files().empty());
}

TEST_CASE("refused: an archive without its end") {
  const std::string whole = write_zip(kTwo);
  const std::string message =
      "f: a zip archive without its end; the file is cut short: download it again";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK(refusal(whole.substr(0, size)) == message);
  }
  CHECK(refusal(whole + "x") == message);
  CHECK(refusal(std::string(200'000, '\0')) == message);
}

TEST_CASE("refused: a central directory that is not where it is said to be") {
  std::string archive = write_zip(kTwo);
  const std::size_t end = archive.size() - 22;
  std::string moved = archive;
  moved.replace(end + 16, 4, gpt2::test::little_endian(0xfffffff0u));
  CHECK(refusal(moved).find("f: the central directory lies outside the archive: ") == 0);
  std::string longer = archive;
  longer.replace(end + 12, 4, gpt2::test::little_endian(0xfffffff0u));
  CHECK(refusal(longer).find("f: the central directory lies outside the archive: ") == 0);
  std::string shifted = archive;
  shifted[end + 16] = static_cast<char>(shifted[end + 16] - 1);
  CHECK(refusal(shifted) == "f: the central directory ends before file 1 of 2");
}

TEST_CASE("refused: a central directory that ends too early") {
  CHECK(refusal(write_zip(kTwo, {.count = 3})) ==
        "f: the central directory ends before file 3 of 3");
  std::string archive = write_zip({{.name = "a", .data = "x"}});
  const std::size_t header = archive.find("PK\x01\x02");
  archive[header + 28] = '\x7f';  // the length of the name
  CHECK(refusal(archive) == "f: the central directory ends inside file 1");
}

TEST_CASE("refused: more files than the limit, before they are read") {
  CHECK(refusal(write_zip(kTwo, {.zip64 = true, .count = 100'001})) ==
        "f: 100001 files; expected at most 100000");
  CHECK(refusal(write_zip(kTwo, {.zip64 = true, .count = ~std::uint64_t{0}})) ==
        "f: 18446744073709551615 files; expected at most 100000");
}

TEST_CASE("refused: a zip64 end record that is not where its locator says") {
  std::string archive = write_zip(kTwo, {.zip64 = true});
  const std::size_t locator = archive.size() - 22 - 20;
  std::string outside = archive;
  outside.replace(locator + 8, 8, gpt2::test::little_endian(~std::uint64_t{0}));
  CHECK(refusal(outside).find("f: the zip64 end record lies outside the archive: ") == 0);
  std::string elsewhere = archive;
  elsewhere.replace(locator + 8, 8, gpt2::test::little_endian(std::uint64_t{0}));
  CHECK(refusal(elsewhere) == "f: no zip64 end record at the offset that its locator gives");
}

TEST_CASE("refused: a name that appears twice") {
  CHECK(refusal(write_zip({{.name = "a", .data = "1"}, {.name = "a", .data = "2"}})) ==
        "f: file 'a' is in the archive twice");
  const std::string bad = "a\x1b[2J\n";
  CHECK(refusal(write_zip({{.name = bad, .data = "1"}, {.name = bad, .data = "2"}})) ==
        "f: file 'a\\x1b[2J\\x0a' is in the archive twice");
}

TEST_CASE("refused: a file that is missing, compressed or encrypted") {
  CHECK(refusal(write_zip({{.name = "b", .data = "1"}})) ==
        "f: file 'a' of the archive is missing");
  CHECK(refusal(write_zip({{.name = "a", .data = "1", .method = 8}})) ==
        "f: file 'a' of the archive is compressed (method 8); expected it stored, as torch.save "
        "does: "
        "save it again");
  CHECK(refusal(write_zip({{.name = "a", .data = "1", .flags = 1}})) ==
        "f: file 'a' of the archive is encrypted; expected it stored, as torch.save does: save it "
        "again");
}

TEST_CASE("refused: impossible sizes and offsets") {
  CHECK(refusal(write_zip({{.name = "a", .data = "1", .stored_size = 5}})) ==
        "f: file 'a' of the archive has two sizes, 5 and 1");
  CHECK(refusal(write_zip({{.name = "a", .data = "1", .size = 500}}))
            .find("f: file 'a' of the archive lies outside the archive: 500 bytes at offset") == 0);
  for (const std::uint64_t size : {std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    std::string archive = write_zip({{.name = "a", .data = "1", .size = size}}, {.zip64 = true});
    const std::size_t field = archive.find("?\x01", archive.find("PK\x01\x02")) + 5;
    archive.replace(field + 8, 8, gpt2::test::little_endian(size));
    CHECK(refusal(archive).find("f: file 'a' of the archive lies outside the archive: " +
                                std::to_string(size)) == 0);
  }
  CHECK(refusal(write_zip({{.name = "a", .data = "1", .header = 4}})) ==
        "f: file 'a' of the archive has no local header");
  for (const std::uint64_t header : {std::uint64_t{1000}, ~std::uint64_t{0}}) {
    CHECK(refusal(write_zip({{.name = "a", .data = "1", .header = header}}, {.zip64 = true}))
              .find("f: the header of file 'a' of the archive lies outside the archive: ") == 0);
  }
}

TEST_CASE("refused: a file whose CRC-32 differs, unless the archive has no CRC-32") {
  CHECK(refusal(write_zip({{.name = "a", .data = "1", .crc32 = 7}})) ==
        "f: file 'a' of the archive is damaged (its CRC-32 differs): download it again");
  CHECK(refusal(write_zip({{.name = "a", .data = "1", .crc32 = 0}})) == "(accepted)");
  // This is the check value of the CRC catalogue: "123456789" has the CRC-32 cbf43926.
  CHECK(refusal(write_zip({{.name = "a", .data = "123456789", .crc32 = 0xcbf43926}})) ==
        "(accepted)");
}

}  // namespace gpt2::test::zip_test
