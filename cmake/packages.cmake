# Third-party libraries, all from Debian (tools/packages.txt). Their headers are SYSTEM includes: our warnings skip them.
set(CMAKE_FIND_PACKAGE_PREFER_CONFIG ON)
find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(NLopt REQUIRED)
find_package(TBB REQUIRED)
find_package(CLI11 REQUIRED)
target_link_libraries(orrery_options INTERFACE
  fmt::fmt yaml-cpp nlohmann_json::nlohmann_json ZLIB::ZLIB Eigen3::Eigen NLopt::nlopt TBB::tbb)
