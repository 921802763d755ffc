#include "formats/zip.h"

#include "support/bytes.h"
#include "support/test.h"
#include "support/torch_file.h"

namespace gpt2::test::zip_test {

namespace {

std::string content(const ZipReader& zip, std::string_view name) {
  const auto bytes = zip.verified_content(name);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void open(const std::string& archive) {
  const ZipReader zip(as_bytes(archive), "f");
  (void)zip.verified_content("a");
}

void refused(const std::string& archive, std::string_view fact,
             ErrorCode code = ErrorCode::invalid_file) {
  check_refused([&] { open(archive); }, {"f: ", fact}, code);
}

// Returns the archive with these bytes in place of those at `at`.
std::string changed(std::string archive, std::size_t at, const std::string& bytes) {
  return archive.replace(at, bytes.size(), bytes);
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
  for (std::size_t size = 0; size < whole.size(); ++size) {
    refused(whole.substr(0, size), "a zip archive without its end");
  }
  refused(whole + "x", "a zip archive without its end");
  refused(std::string(200'000, '\0'), "a zip archive without its end");
}

TEST_CASE("refused: a central directory that is not where it is said to be, or ends too early") {
  const std::string archive = write_zip(kTwo);
  const std::size_t end = archive.size() - 22;
  refused(changed(archive, end + 16, little_endian(0xfffffff0u)), "lies outside the archive: ");
  refused(changed(archive, end + 12, little_endian(0xfffffff0u)), "lies outside the archive: ");
  const std::string before(1, static_cast<char>(archive[end + 16] - 1));
  refused(changed(archive, end + 16, before), "central directory ends before file 1 of 2");
  refused(write_zip(kTwo, {.count = 3}), "central directory ends before file 3 of 3");
  const std::string one = write_zip({{.name = "a", .data = "x"}});
  const std::size_t length_of_name = one.find("PK\x01\x02") + 28;
  refused(changed(one, length_of_name, "\x7f"), "central directory ends inside file 1");

  const std::string wide = write_zip(kTwo, {.zip64 = true});
  const std::size_t locator = wide.size() - 22 - 20;
  refused(changed(wide, locator + 8, little_endian(~std::uint64_t{0})),
          "the zip64 end record lies outside the archive: ");
  refused(changed(wide, locator + 8, little_endian(std::uint64_t{0})), "no zip64 end record");
}

TEST_CASE("refused: more files than the limit, before they are read, and one name for two") {
  refused(write_zip(kTwo, {.zip64 = true, .count = 100'001}), "100001 files");
  const std::string bad = "a\x1b[2J\n";
  refused(write_zip({{.name = bad, .data = "1"}, {.name = bad, .data = "2"}}),
          "file 'a\\x1b[2J\\x0a' is in the archive twice");
}

TEST_CASE("refused: a file that is missing, compressed, encrypted or damaged") {
  refused(write_zip({{.name = "b", .data = "1"}}), "file 'a' of the archive is missing");
  refused(write_zip({{.name = "a", .data = "1", .method = 8}}),
          "file 'a' of the archive is compressed (method 8)", ErrorCode::unsupported);
  refused(write_zip({{.name = "a", .data = "1", .flags = 1}}),
          "file 'a' of the archive is encrypted", ErrorCode::unsupported);
  refused(write_zip({{.name = "a", .data = "1", .crc32 = 7}}),
          "file 'a' of the archive is damaged (its CRC-32 differs)");
  CHECK_NOTHROW(open(write_zip({{.name = "a", .data = "1", .crc32 = 0}})));  // it has none
  // This is the check value of the CRC catalogue: "123456789" has the CRC-32 cbf43926.
  CHECK_NOTHROW(open(write_zip({{.name = "a", .data = "123456789", .crc32 = 0xcbf43926}})));
}

TEST_CASE("refused: impossible sizes and offsets") {
  const std::string outside = "file 'a' of the archive lies outside the archive: ";
  refused(write_zip({{.name = "a", .data = "1", .stored_size = 5}}),
          "file 'a' of the archive has two sizes, 5 and 1");
  refused(write_zip({{.name = "a", .data = "1", .size = 500}}), outside + "500 bytes at offset");
  for (const std::uint64_t size : {std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    const std::string archive =
        write_zip({{.name = "a", .data = "1", .size = size}}, {.zip64 = true});
    const std::size_t field = archive.find("?\x01", archive.find("PK\x01\x02")) + 5;
    refused(changed(archive, field + 8, little_endian(size)), outside + std::to_string(size));
  }
  refused(write_zip({{.name = "a", .data = "1", .header = 4}}),
          "file 'a' of the archive has no local header");
  for (const std::uint64_t header : {std::uint64_t{1000}, ~std::uint64_t{0}}) {
    refused(write_zip({{.name = "a", .data = "1", .header = header}}, {.zip64 = true}),
            "the header of " + outside);
  }
}

}  // namespace gpt2::test::zip_test
