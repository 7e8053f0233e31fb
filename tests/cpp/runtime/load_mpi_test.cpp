// SPDX-License-Identifier: MIT
// What says that there is no MPI, or another than the one that was meant. What
// works is tested on several ranks: tests/python/test_mpi.py.
#include "runtime/collective/load_mpi.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "traingraph/collective.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

std::string message_of(std::string_view library) {
  try {
    mpi_collective(library);
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.op(), "mpi_collective");
    return error.what();
  }
  return "";
}

TEST(LoadMpi, AMissingLibrarySaysWhatToInstall) {
  const std::string message = message_of("/nowhere/libmpi_abi.so.1");
  for (const char* part : {"/nowhere/libmpi_abi.so.1", "pip install mpich",
                           "TRAINGRAPH_MPI_LIBRARY"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(LoadMpi, TheVariableCountsWhereNoPathIsGiven) {
  ::setenv("TRAINGRAPH_MPI_LIBRARY", "/elsewhere/libmpi_abi.so.1", 1);
  EXPECT_NE(message_of("").find("/elsewhere/"), std::string::npos);
  EXPECT_NE(message_of("/nowhere/lib.so").find("/nowhere/"), std::string::npos);
  ::unsetenv("TRAINGRAPH_MPI_LIBRARY");
}

#if defined(__linux__)
TEST(LoadMpi, AnotherLibraryIsNoMpi) {
  const std::string message = message_of("libm.so.6");
  EXPECT_NE(message.find("libm.so.6 is no library of MPI's standard ABI"),
            std::string::npos)
      << message;
}
#endif

TEST(LoadMpi, NullCommunicatorsAreRefused) {
  EXPECT_THROW(mpi_collective({}, mpi::comm_null()), InvalidArgument);
}

TEST(LoadMpi, VersionsAreShort) {
  EXPECT_EQ(mpi::short_version("MPICH Version:      5.0.2\nMPICH Release"),
            "MPICH 5.0.2");
  EXPECT_EQ(mpi::short_version("Open MPI v5.1.0, package: Open MPI"),
            "Open MPI v5.1.0");
  EXPECT_EQ(mpi::short_version(""), "");
}

}  // namespace
}  // namespace traingraph
