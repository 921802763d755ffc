#!/usr/bin/env python3
"""Prints what the files of a release contain, in the form of SPDX 2.3 (https://spdx.github.io):

  make_sbom.py VERSION FILE...

The versions of the libraries are those of this system's packages. The time is that of
SOURCE_DATE_EPOCH.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

# Of each library: its Debian package, its licence, who supplies it, and which files contain it. The
# .deb contains none of the system's libraries, but nlohmann/json is compiled into all files.
LIBRARIES = {
    "nlohmann-json": ("nlohmann-json3-dev", "MIT", "Niels Lohmann", r"."),
    "utf8proc": ("libutf8proc-dev", "MIT AND Unicode-DFS-2015", "the utf8proc authors",
                 r"^(?!.*\.deb$)"),
    "libgomp": ("libgomp1", "GPL-3.0-or-later WITH GCC-exception-3.1", "Free Software Foundation",
                r"^(?!.*(\.deb|-windows-.*)$)"),
    "libstdc++": ("libstdc++6", "GPL-3.0-or-later WITH GCC-exception-3.1",
                  "Free Software Foundation", r"^(?!.*(\.deb|-windows-.*)$)"),
    "libgomp and libstdc++ for Windows": (
        "gcc-mingw-w64-x86-64-posix", "GPL-3.0-or-later WITH GCC-exception-3.1",
        "Free Software Foundation", r"-windows-"),
    "mingw-w64": ("mingw-w64-x86-64-dev", "ZPL-2.1 AND MIT", "the mingw-w64 project", r"-windows-"),
    "glibc": ("libc6-dev", "LGPL-2.1-or-later", "Free Software Foundation",
              r"-linux-[a-z0-9_]+$"),
}


def spdx_id(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def version_of(package):
    return subprocess.run(["dpkg-query", "--show", "--showformat=${Version}", package], check=True,
                          capture_output=True, text=True).stdout


def package_of(name, version, licence, supplier, **more):
    return {"SPDXID": spdx_id(name), "name": name, "versionInfo": version,
            "supplier": "Organization: " + supplier, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
            "copyrightText": "NOASSERTION", **more}


def main(version, files):
    hashes = {file: hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest() for file in files}
    packages = [package_of(file, version, "MIT", "the gpt2.cpp authors", packageFileName=file,
                           checksums=[{"algorithm": "SHA256", "checksumValue": hashes[file]}])
                for file in files]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", spdx_id(file)) for file in files]
    for name, (package, licence, supplier, pattern) in LIBRARIES.items():
        packages.append(package_of(name, version_of(package), licence, supplier))
        relations += [(spdx_id(file), "CONTAINS", spdx_id(name)) for file in files
                      if re.search(pattern, file)]
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"gpt2-{version}",
        "documentNamespace": "https://spdx.org/spdxdocs/gpt2-" + version + "-"
                             + hashlib.sha256("".join(hashes.values()).encode()).hexdigest(),
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: tools/make_sbom.py"]},
        "packages": packages,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
                          for a, kind, b in relations],
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
