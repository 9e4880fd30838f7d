# Collects licences when npar is installed, from the statements that come with Debian's packages of what npar uses.
cmake_minimum_required(VERSION 3.24) # of policies

# Writes share/npar/FILE under the prefix: a heading, then the statements of the packages in ARGN.
function(npar_notices file heading)
  set(text "${heading}\n")
  foreach(package IN LISTS ARGN)
    set(statement /usr/share/doc/${package}/copyright)
    if(EXISTS ${statement})
      file(READ ${statement} copyright)
      string(APPEND text "\n==== ${package} ====\n\n${copyright}")
    else()
      message(WARNING "no licence of ${package}: '${statement}' is missing; do not pass this folder on without it")
    endif()
  endforeach()
  file(WRITE "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share/npar/${file}" "${text}")
endfunction()
